import { createHash } from 'node:crypto';
import type { OpenFile } from './open-file.ts';
import { WorkspaceError } from './workspace-error.ts';

/** Tells one content of a file from another. The time of change is left out: a touch changes nothing. */
export interface Version {
  readonly size: number;
  readonly sha256: string;
}

export interface FileContent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly version: Version;
}

const chunkLength = 262_144;

/** The whole of an open file, or an error where it is longer than the bound. */
export async function readContent(file: OpenFile, maxBytes: number): Promise<FileContent> {
  const { handle, place, stats } = file;
  if (stats.size > maxBytes) throw tooLarge(place.given, stats.size, maxBytes);
  const chunks: Uint8Array[] = [];
  // Up to its end rather than its size: it may grow while it is read.
  for (let length = 0; ; ) {
    const chunk = new Uint8Array(Math.min(chunkLength, Math.max(stats.size - length, 0) + 1));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, length);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
    if (length > maxBytes) throw tooLarge(place.given, length, maxBytes);
  }
  const bytes = new Uint8Array(Buffer.concat(chunks));
  return { bytes, version: versionOf(bytes) };
}

function versionOf(bytes: Uint8Array): Version {
  return { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

export function isSameVersion(a: Version, b: Version): boolean {
  return a.size === b.size && a.sha256 === b.sha256;
}

function tooLarge(path: string, size: number, maxBytes: number): WorkspaceError {
  const state = `it has ${size} bytes, and at most ${maxBytes} can be taken at once`;
  return new WorkspaceError('too_large', path, state);
}
