import type { Delta } from '../protocol/delta.ts';
import type { Fact, SettledItem } from '../protocol/fact.ts';
import type { Item } from '../protocol/item.ts';
import type { Part, Source } from '../protocol/part.ts';
import { toBase64 } from './base64.ts';

// The JSON form differs from the types in three points. Bytes are base64. The derived input of a
// tool call is omitted. Unknown deltas and facts are written unchanged.

type WriteBytes = (bytes: Uint8Array) => string;

export function wireDelta(delta: Delta, writeBytes: WriteBytes = toBase64): object {
  switch (delta.type) {
    case 'append_bytes':
      return { ...delta, chunk: writeBytes(delta.chunk) };
    case 'commit_part':
      if (delta.part === undefined) return delta;
      return { ...delta, part: wirePart(delta.part, writeBytes) };
    case 'unknown':
      return delta.raw;
    default:
      return delta;
  }
}

export function wireFact(fact: Fact): object {
  switch (fact.type) {
    case 'snapshot':
      return { ...fact, items: fact.items.map(wireSettledItem) };
    case 'unknown':
      return fact.raw;
    default:
      return fact;
  }
}

export function wireSettledItem({ itemId, parts }: SettledItem): object {
  return { itemId, parts: parts.map(({ partId, part }) => ({ partId, part: wirePart(part) })) };
}

export function wireItem(item: Item): object {
  return { ...item, parts: item.parts.map((part) => wirePart(part)) };
}

export function wirePart(part: Part, writeBytes: WriteBytes = toBase64): object {
  switch (part.kind) {
    case 'tool_call': {
      const { input: _derived, ...rest } = part;
      return rest;
    }
    case 'media':
    case 'file':
      return { ...part, source: wireSource(part.source, writeBytes) };
    case 'tool_result':
      if (part.attachments === undefined) return part;
      return { ...part, attachments: part.attachments.map((file) => wirePart(file, writeBytes)) };
    default:
      return part;
  }
}

function wireSource(source: Source, writeBytes: WriteBytes): object {
  return source.type === 'bytes' ? { ...source, bytes: writeBytes(source.bytes) } : source;
}

/** Returns the length of a part as JSON text, without encoding its bytes. */
export function encodedLength(part: Part): number {
  let bytesLength = 0;
  const wire = wirePart(part, (bytes) => {
    bytesLength += Math.ceil(bytes.length / 3) * 4;
    return '';
  });
  return JSON.stringify(wire).length + bytesLength;
}

/** The characters that the fields of a record around a part can need. */
export const roomAroundParts: number = 2 ** 16;
