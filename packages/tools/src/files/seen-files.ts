import type { ToolContext } from '@millrace/agent';
import type { FileVersion } from '../workspace/open-file.ts';

// The contents of files that each session has read or written in this process. The tool `write` compares them
// with the file, because it must not remove lines that the model has never seen. A new process starts with an
// empty table. A file that is not in the table can be replaced.

const maxEntries = 10_000;
const versions = new Map<string, FileVersion>();

type Reader = Pick<ToolContext, 'session'>;

/** Returns the content that the session last read or wrote. Returns undefined if it is unknown. */
export function seenVersion({ session }: Reader, real: string): FileVersion | undefined {
  return versions.get(keyOf(session, real));
}

/**
 * Stores the content that the session has read or written. If there are too many entries, the oldest are
 * dropped.
 */
export function noteVersion({ session }: Reader, real: string, version: FileVersion): void {
  const key = keyOf(session, real);
  versions.delete(key);
  versions.set(key, version);
  for (const oldest of versions.keys()) {
    if (versions.size <= maxEntries) break;
    versions.delete(oldest);
  }
}

function keyOf(session: string, real: string): string {
  return `${session}\0${real}`;
}
