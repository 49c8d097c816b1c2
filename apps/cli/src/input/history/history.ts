import { MillraceError } from '@millrace/core';
import { makePrivateFile } from '../../store/open-store.ts';
import type { HistoryEntry } from '../editor/editor-state.ts';
import { historyLine, isKept, maxHistoryEntries, parseHistoryLine } from './history-entry.ts';
import { appendLine, readLines, shortenFile } from './history-file.ts';

/** Longer ones are there until the program ends. In UTF-16 code units. */
const maxKeptLength = 65_536;
/** The file may have so many more, so that it is not made shorter each time. */
const slack = 500;

interface HistoryOptions {
  readonly path: string;
  /** Milliseconds since 1970, to tell a lock that was left behind. */
  readonly now?: (() => number) | undefined;
}

/** What was sent before, in a file that terminals share: one JSON object a line, for its owner alone. */
export interface History {
  /** As they were when it was opened, the oldest first. */
  readonly entries: readonly HistoryEntry[];
  /** Entries that begin with a space are not kept. Rejects with a `HistoryError` if the file cannot be written. */
  add(entry: HistoryEntry): Promise<void>;
}

export async function openHistory({ path, now = Date.now }: HistoryOptions): Promise<History> {
  const { lines, isCut } = await attempt('read', path, async () => {
    await makePrivateFile(path);
    return readLines(path);
  });
  // Where it cannot be made shorter, it can still be read, and the next one tries again.
  if (isCut || lines.length > maxHistoryEntries + slack)
    await shortenFile(path, shortened, now()).catch(() => {});
  let last = Promise.resolve();
  const write = (entry: HistoryEntry) =>
    attempt('write', path, () => appendLine(path, historyLine(entry)));
  return {
    entries: entriesOf(lines),
    add(entry) {
      if (!isKept(entry.text) || entry.text.length > maxKeptLength) return Promise.resolve();
      const written = last.then(() => write(entry));
      last = written.catch(() => {});
      return written;
    },
  };
}

function entriesOf(lines: readonly string[]): readonly HistoryEntry[] {
  // The newest of those that say the same; a Map has its keys in the order they came.
  const newest = new Map<string, HistoryEntry>();
  for (const entry of lines.map(parseHistoryLine)) {
    if (entry === undefined || !isKept(entry.text)) continue;
    newest.delete(entry.text);
    newest.set(entry.text, entry);
  }
  return [...newest.values()].slice(-maxHistoryEntries);
}

function shortened(lines: readonly string[]): readonly string[] {
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
    throw unusable(action, path, cause);
  }
}

function unusable(action: 'read' | 'write', path: string, cause: unknown): HistoryError {
  return new HistoryError(action, path, { cause });
}

/** The file of the history cannot be used. The prompt works without it. */
export class HistoryError extends MillraceError<'history_unusable'> {
  constructor(action: 'read' | 'write', path: string, options: ErrorOptions) {
    const { cause } = options;
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `Cannot ${action} the history of the prompt in ${path}: ${why}. The prompt works without it; see to it that the file can be read and written`;
    super('history_unusable', message, { path }, options);
  }
}
