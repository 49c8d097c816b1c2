import type { Limits } from '../limits.ts';
import type { AppendBytes, Delta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import { toBase64 } from './base64.ts';
import { isBytes, Misfit, pathText } from './decoder.ts';
import { delta as deltaDecoder } from './delta.ts';
import { roomAroundParts, wireDelta, wireFact } from './encode.ts';
import { fact as factDecoder } from './fact.ts';

/** Why no reader could read it, and where. */
export class Unreadable extends Error {
  readonly refusal: Refusal;
  readonly path: string;

  constructor(refusal: Refusal, path: string, cause: unknown) {
    super('unreadable', { cause });
    this.refusal = refusal;
    this.path = path;
  }
}

/** The delta as a reader would read it: the fields that are known, and no others. Throws `Unreadable`. */
export function rereadDelta(delta: Delta, limits: Limits): Delta {
  return reread(delta, () => {
    if (delta.type === 'append_bytes') return rereadBytes(delta, limits);
    return deltaDecoder(wireDelta(delta, writeBytes), limits);
  });
}

/** Their base64 need not be written to know that they are bytes. */
function rereadBytes(delta: AppendBytes, limits: Limits): Delta {
  if (!isBytes(delta.chunk)) throw new Misfit('expected bytes');
  const read = deltaDecoder({ ...delta, chunk: '' }, limits);
  return read.type === 'append_bytes' ? { ...read, chunk: delta.chunk } : read;
}

function writeBytes(bytes: Uint8Array): string {
  if (isBytes(bytes)) return toBase64(bytes);
  throw new Misfit('expected bytes');
}

export function rereadFact(fact: Fact, limits: Limits): Fact {
  return reread(fact, () => {
    if (fact.type === 'snapshot') throw new Misfit('only a store writes snapshots');
    const read = factDecoder(wireFact(fact), limits);
    const length = JSON.stringify(wireFact(read)).length + roomAroundParts;
    if (length > limits.maxDocumentLength) throw new Misfit('it is too long', 'too_large');
    return read;
  });
}

function reread<T extends Delta | Fact>(body: T, read: () => T): T {
  try {
    const found = read();
    if (found.type !== body.type) throw new Misfit('expected a type that is not known');
    return found;
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause: unknown): Unreadable {
  // What is so far from its type that it cannot even be written has no path.
  const { code, path } = cause instanceof Misfit ? cause : new Misfit('');
  const refusal = code === 'too_large' || code === 'not_json' ? code : 'bad_value';
  return new Unreadable(refusal, pathText(path), cause);
}
