import type { LogRecord, NewBytes, Part, Source } from '@millrace/core';

/** Returns the hashes of the blobs that records reference. A hash can occur more than once. */
export function referencedBlobs(records: readonly LogRecord[]): readonly string[] {
  const hashes: string[] = [];
  for (const { delta, fact } of records) {
    if (delta?.type === 'commit_part' && delta.part !== undefined)
      hashes.push(...blobsInPart(delta.part));
    if (fact?.type === 'file_changed')
      for (const version of [fact.before, fact.after])
        if (version?.isStored) hashes.push(version.hash);
    if (fact?.type === 'snapshot') {
      for (const { parts } of fact.items)
        for (const { part } of parts) hashes.push(...blobsInPart(part));
    }
  }
  return hashes;
}

function* blobsInPart(part: Part): Generator<string> {
  if (part.kind === 'media' || part.kind === 'file') yield* blobInSource(part.source);
  if (part.kind === 'tool_result')
    for (const one of part.attachments ?? []) yield* blobInSource(one.source);
}

function* blobInSource(source: Source): Generator<string> {
  if (source.type === 'blob') yield source.hash;
}

/** Returns the hash that identifies a blob. It is the SHA-256 of the bytes as hexadecimal digits. */
export async function blobHash(bytes: NewBytes): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
