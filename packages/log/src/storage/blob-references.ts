import type { LogRecord, NewBytes, Part, Source } from '@millrace/core';

/** Yields the hashes of the blobs that records reference. */
export function* referencedBlobs(records: readonly LogRecord[]): Generator<string> {
  for (const { delta, fact } of records) {
    if (delta?.type === 'commit_part' && delta.part !== undefined) yield* blobsInPart(delta.part);
    if (fact?.type === 'snapshot') {
      for (const { parts } of fact.items) for (const { part } of parts) yield* blobsInPart(part);
    }
  }
}

function* blobsInPart(part: Part): Generator<string> {
  if (part.kind === 'media' || part.kind === 'file') yield* blobInSource(part.source);
  if (part.kind === 'tool_result')
    for (const one of part.attachments ?? []) yield* blobInSource(one.source);
}

function* blobInSource(source: Source): Generator<string> {
  if (source.type === 'blob') yield source.hash;
}

/** Returns the hash that identifies a blob: SHA-256 as hexadecimal digits. */
export async function blobHash(bytes: NewBytes): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
