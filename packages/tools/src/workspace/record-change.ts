import type { ToolContext } from '@millrace/agent';
import { readProtection } from '../permissions/protected-paths.ts';
import {
  type FileContent,
  type FileVersion,
  hashFile,
  type OpenFile,
  readContent,
  versionOf,
} from './open-file.ts';
import type { ResolvedPath } from './resolve-path.ts';

/** The parts of a tool context that a workspace needs to write file changes to the log. */
export type ChangeLog = Pick<ToolContext, 'blobs' | 'recordFileChange'>;

/** Maximum size of a file whose content is stored, in bytes. */
export const maxStoredBytes: number = 16 * 1024 * 1024;

/** Returns the permission bits that a new file gets. */
function newFileMode(): number {
  return 0o666 & ~process.umask();
}

/** A file before a change. */
export interface OldFile extends Partial<Pick<FileContent, 'bytes'>> {
  /** The permission bits. */
  readonly mode: number;
  readonly version: FileVersion;
}

/** Reads a file before it is changed. The result has no content if the file is too large to be stored. */
export async function readOldFile(file: OpenFile): Promise<OldFile> {
  const mode = modeOf(file);
  if (file.stats.size > maxStoredBytes) return { mode, version: await hashFile(file) };
  return { mode, ...(await readContent(file, maxStoredBytes)) };
}

/** Returns the permission bits of a file. */
export function modeOf({ stats }: OpenFile): number {
  return stats.mode & 0o7777;
}

/**
 * Writes a file change to the log, with the content before and after the change. `before` is undefined if the
 * file does not exist. `after` is undefined if the change deletes the file.
 */
export async function recordChange(
  log: ChangeLog,
  { real: path }: ResolvedPath,
  before: OldFile | undefined,
  after: Uint8Array | undefined,
): Promise<void> {
  const isSecret = readProtection(path) !== undefined;
  const mode = before?.mode ?? newFileMode();
  const store = async (version: FileVersion, bytes: Uint8Array | undefined) => {
    const isStored = bytes !== undefined && !isSecret && bytes.length <= maxStoredBytes;
    if (isStored) await log.blobs.put(bytes);
    return { hash: version.sha256, length: version.size, mode, isStored };
  };
  await log.recordFileChange?.({
    path,
    before: before && (await store(before.version, before.bytes)),
    after: after && (await store(versionOf(after), after)),
  });
}
