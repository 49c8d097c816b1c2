import type { ContentLimits } from '../limits.ts';
import type { AppendBytes, Delta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import { toBase64 } from './base64.ts';
import { DecodeFailure, isBytes, pathText } from './decoder.ts';
import { delta as deltaDecoder } from './delta.ts';
import { roomAroundParts, wireDelta, wireFact } from './encode.ts';
import { fact as factDecoder } from './fact.ts';

/** Thrown if no reader could decode a value. It contains the reason and the path of the wrong field. */
export class UndecodableError extends Error {
  readonly refusal: Refusal;
  readonly path: string;

  constructor(refusal: Refusal, path: string, cause: unknown) {
    super('unreadable', { cause });
    this.refusal = refusal;
    this.path = path;
  }
}

/**
 * Returns the delta as a reader would decode it, which means with the known fields only. Throws
 * `UndecodableError` if no reader could decode it.
 */
export function rereadDelta(delta: Delta, limits: ContentLimits): Delta {
  return reread(delta, () => {
    if (delta.type === 'append_bytes') return rereadBytes(delta, limits);
    return deltaDecoder(wireDelta(delta, writeBytes), limits);
  });
}

/** Checks an append of bytes without encoding the bytes as base64. */
function rereadBytes(delta: AppendBytes, limits: ContentLimits): Delta {
  if (!isBytes(delta.chunk)) throw new DecodeFailure('expected bytes');
  const read = deltaDecoder({ ...delta, chunk: '' }, limits);
  return read.type === 'append_bytes' ? { ...read, chunk: delta.chunk } : read;
}

function writeBytes(bytes: Uint8Array): string {
  if (isBytes(bytes)) return toBase64(bytes);
  throw new DecodeFailure('expected bytes');
}

export function rereadFact(fact: Fact, limits: ContentLimits): Fact {
  return reread(fact, () => {
    if (fact.type === 'snapshot') throw new DecodeFailure('only a store writes snapshots');
    const read = factDecoder(wireFact(fact), limits);
    const length = JSON.stringify(wireFact(read)).length + roomAroundParts;
    if (length > limits.maxDocumentLength) throw new DecodeFailure('it is too long', 'too_large');
    return read;
  });
}

function reread<T extends Delta | Fact>(body: T, read: () => T): T {
  try {
    const found = read();
    if (found.type !== body.type) throw new DecodeFailure('expected a type that is not known');
    return found;
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause: unknown): UndecodableError {
  // If the value could not even be encoded, the cause is a different error, and there is no path.
  const { code, path } = cause instanceof DecodeFailure ? cause : new DecodeFailure('');
  const refusal = code === 'too_large' || code === 'not_json' ? code : 'bad_value';
  return new UndecodableError(refusal, pathText(path), cause);
}
