import type { PartId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { AppendBytes, AppendText, BeginPart, PartEnd } from '../protocol/delta.ts';
import type { ItemKind } from '../protocol/item.ts';
import type { Metadata, Part } from '../protocol/part.ts';
import { withInput } from '../protocol/tool-call.ts';

/** A part that is still streaming. Its kind determines whether `text`, `bytes` or `value` grows. */
export interface OpenPart {
  readonly id: PartId;
  readonly begin: BeginPart;
  readonly itemKind: ItemKind;
  readonly text: string;
  readonly bytes: ByteRope | undefined;
  readonly value: JsonValue | undefined;
  readonly metadata: Metadata | undefined;
}

/** Returns the part that results if the open part ends now. */
export function buildPart(open: OpenPart, end: PartEnd): Part {
  const { begin, metadata } = open;
  const { partial, providerState, signature } = end;
  const common = {
    ...(partial && { partial }),
    ...(metadata && { metadata }),
    ...(providerState && { providerState }),
  };
  switch (begin.kind) {
    case 'text': {
      const { kind, mimeType } = begin;
      return { kind, text: open.text, ...(mimeType !== undefined && { mimeType }), ...common };
    }
    case 'reasoning': {
      const { kind, form } = begin;
      return {
        kind,
        text: open.text,
        form,
        ...(signature !== undefined && { signature }),
        ...common,
      };
    }
    case 'tool_call': {
      const { kind, toolCallId, name } = begin;
      return withInput({ kind, toolCallId, name, arguments: open.text, ...common });
    }
    case 'tool_result': {
      const { kind, toolCallId, name } = begin;
      return { kind, toolCallId, name, text: open.text, isError: false, ...common };
    }
    case 'structured': {
      const { kind, name } = begin;
      const value = open.value ?? null;
      return { kind, value, ...(name !== undefined && { name }), ...common };
    }
    case 'custom':
      return { kind: begin.kind, name: begin.name, value: open.value ?? null, ...common };
    case 'media':
      return { kind: begin.kind, mimeType: begin.mimeType, source: bytesOf(open), ...common };
    case 'file': {
      const { kind, name, mimeType } = begin;
      return { kind, name, mimeType, source: bytesOf(open), ...common };
    }
  }
}

function bytesOf({ bytes }: OpenPart) {
  return { type: 'bytes', bytes: toBytes(bytes) } as const;
}

/** Returns the current content of an open part. */
export function livePart(open: OpenPart): Part {
  return buildPart(open, { partial: true });
}

/** Bytes as a linked list of chunks. Appending copies nothing, and an older rope stays valid. */
export interface ByteRope {
  readonly before: ByteRope | undefined;
  readonly chunk: Uint8Array;
  readonly length: number;
}

export function addBytes(before: ByteRope | undefined, chunk: Uint8Array): ByteRope {
  return { before, chunk, length: (before?.length ?? 0) + chunk.length };
}

/** Joins all chunks into one array. */
export function toBytes(rope: ByteRope | undefined): Uint8Array {
  return sliceBytes(rope, 0, rope?.length ?? 0);
}

/**
 * Returns a copy of the bytes from `from` to `to`. It walks back from the end and stops at `from`.
 */
export function sliceBytes(rope: ByteRope | undefined, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(to - from);
  for (let link = rope; link !== undefined && link.length > from; link = link.before) {
    const start = link.length - link.chunk.length;
    const piece = link.chunk.subarray(Math.max(0, from - start), Math.max(0, to - start));
    bytes.set(piece, Math.max(0, start - from));
  }
  return bytes;
}

/** Returns the new end of a chunk. The chunk may overlap text that the part already has. */
export function newText(part: OpenPart, { at, chunk }: AppendText): string {
  const known = part.text.length - at;
  return known === 0 ? chunk : chunk.slice(known);
}

export function newBytes(part: OpenPart, { at, chunk }: AppendBytes): Uint8Array {
  const known = lengthOf(part) - at;
  return known === 0 ? chunk : chunk.subarray(known);
}

/**
 * Returns the length of the appended content. It is 0 for structured and custom parts, which grow
 * by replacement.
 */
export function lengthOf(part: OpenPart): number {
  return part.bytes?.length ?? part.text.length;
}
