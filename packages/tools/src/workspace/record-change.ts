import { createHash } from 'node:crypto';
import type { ToolContext } from '@millrace/agent';
import type { FileVersion as StoredVersion } from '@millrace/core';
import { WorkspaceError } from '../contract/workspace-error.ts';
import { readProtection } from '../permissions/protected-paths.ts';
import { type FileContent, type OpenFile, readContent } from './open-file.ts';
import type { ResolvedPath } from './resolve-path.ts';

/** The parts of a tool context with which a workspace writes changes of files to the log. */
export type ChangeLog = Pick<ToolContext, 'blobs' | 'recordFileChange'>;

/** Maximum size of a file whose content is stored, in bytes. */
export const maxStoredBytes: number = 16 * 1024 * 1024;

/** The permission bits that a new file gets. */
function newFileMode(): number {
  return 0o666 & ~process.umask();
}

/**
 * Writes a change of a file to the log, with the content before and after. `before` is the open file, or
 * undefined if there is none. `after` is undefined if the file is deleted. Returns the content before, or
 * undefined if it was not read.
 */
export async function recordChange(
  log: ChangeLog,
  place: ResolvedPath,
  before: OpenFile | undefined,
  after: Uint8Array | undefined,
): Promise<FileContent | undefined> {
  const isSecret = readProtection(place.real) !== undefined;
  const content =
    before && before.stats.size <= maxStoredBytes
      ? await readContent(before, maxStoredBytes)
      : undefined;
  const mode = before === undefined ? newFileMode() : before.stats.mode & 0o7777;
  const store = async (bytes: Uint8Array): Promise<StoredVersion> => {
    const isStored = !isSecret && bytes.length <= maxStoredBytes;
    if (isStored) await log.blobs.put(bytes);
    const hash = createHash('sha256').update(bytes).digest('hex');
    return { hash, length: bytes.length, mode, isStored };
  };
  const old =
    content === undefined ? before && (await unstoredVersion(before)) : await store(content.bytes);
  await log.recordFileChange?.({
    ...{ path: place.real, before: old, after: after && (await store(after)) },
  });
  return content;
}

/** Returns the version of a file that is too large to be stored. It is read in pieces. */
async function unstoredVersion({ handle, stats, place }: OpenFile): Promise<StoredVersion> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const piece of handle.createReadStream({ start: 0, autoClose: false })) {
    length += piece.length;
    if (length > stats.size) {
      const state = 'it grows while it is read. Try again when it is complete';
      throw new WorkspaceError('changed', place.given, state);
    }
    hash.update(piece);
  }
  return { hash: hash.digest('hex'), length, mode: stats.mode & 0o7777, isStored: false };
}
