import { MillraceError } from '@millrace/core';
import { ensurePrivateFile } from '../../store/open-store.ts';
import type { HistoryEntry } from '../editor/editor-state.ts';
import { historyLine, isRecorded, maxHistoryEntries, parseHistoryLine } from './history-entry.ts';
import { appendLine, readLines, shortenFile } from './history-file.ts';

/**
 * Maximum length of an entry in the file, in UTF-16 code units. Longer entries are kept only in
 * memory.
 */
const maxEntryLength = 65_536;
/** The file may exceed its limit by this many lines. So it is not shortened on every start. */
const maxExtraLines = 500;

interface HistoryOptions {
  readonly path: string;
  /** Returns the current time in milliseconds since 1970. It is used to detect a stale lock. */
  readonly now?: (() => number) | undefined;
}

/**
 * The prompt history. All terminals share its file. The file has one JSON object per line, and only
 * its owner can read it.
 */
export interface History {
  /** The entries when the history was opened, oldest first. */
  readonly entries: readonly HistoryEntry[];
  /**
   * Adds an entry. An entry that starts with a space is not stored. Rejects with a `HistoryError`
   * if the file cannot be written.
   */
  add(entry: HistoryEntry): Promise<void>;
}

export async function openHistory({ path, now = Date.now }: HistoryOptions): Promise<History> {
  const { lines, isCut } = await attempt('read', path, async () => {
    await ensurePrivateFile(path);
    return readLines(path);
  });
  // If shortening fails, the file is still readable. The next start tries again.
  if (isCut || lines.length > maxHistoryEntries + maxExtraLines)
    await shortenFile(path, shortenLines, now()).catch(() => {});
  let last = Promise.resolve();
  const write = (entry: HistoryEntry) =>
    attempt('write', path, () => appendLine(path, historyLine(entry)));
  return {
    entries: entriesOf(lines),
    add(entry) {
      if (!isRecorded(entry.text) || entry.text.length > maxEntryLength) return Promise.resolve();
      const written = last.then(() => write(entry));
      last = written.catch(() => {});
      return written;
    },
  };
}

function entriesOf(lines: readonly string[]): readonly HistoryEntry[] {
  // If entries are equal, only the newest one is kept. A Map iterates its keys in insertion order.
  const newest = new Map<string, HistoryEntry>();
  for (const entry of lines.map(parseHistoryLine)) {
    if (entry === undefined || !isRecorded(entry.text)) continue;
    newest.delete(entry.text);
    newest.set(entry.text, entry);
  }
  return [...newest.values()].slice(-maxHistoryEntries);
}

function shortenLines(lines: readonly string[]): readonly string[] {
  return entriesOf(lines).map(historyLine);
}

async function attempt<T>(
  action: 'read' | 'write',
  path: string,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw historyError(action, path, cause);
  }
}

function historyError(action: 'read' | 'write', path: string, cause: unknown): HistoryError {
  return new HistoryError(action, path, { cause });
}

/** Thrown if the history file cannot be used. The prompt works without a history. */
export class HistoryError extends MillraceError<'history_unusable'> {
  constructor(action: 'read' | 'write', path: string, options: ErrorOptions) {
    const { cause } = options;
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `Cannot ${action} the prompt history in ${path}: ${why}. The prompt works without it. Make sure that the file is readable and writable`;
    super('history_unusable', message, { path }, options);
  }
}
