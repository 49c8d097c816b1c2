import type { SessionId } from '@millrace/core';
import { importBlobs, importSession, type Log, LogError } from '@millrace/log';
import { LineCursor } from './line-cursor.ts';

/** One session of a file. */
export interface Imported {
  readonly session: SessionId;
  /** It was there before, and is left as it was. */
  readonly isKept: boolean;
}

const isBlob = (line: string) => line.startsWith('{"hash":');
const isHeader = (line: string) => line.startsWith('{"millrace":"session"');
const isRecord = (line: string) => !isBlob(line) && !isHeader(line);

/**
 * What `millrace sessions export` wrote, session by session. Each is taken whole or not at all; an
 * error names the line of the file. It is an error where the first is there already; those that follow
 * are mostly its sub-agents', and may be.
 */
export async function* importLines(
  log: Log,
  lines: AsyncIterable<string>,
): AsyncGenerator<Imported> {
  const cursor = new LineCursor(lines);
  for (let count = 0; count === 0 || (await cursor.peek()) !== undefined; count++) {
    await numbered(cursor, () => importBlobs(log, cursor.while(isBlob)));
    yield await numbered(cursor, () => importOne(log, cursor, count > 0));
  }
}

async function importOne(log: Log, cursor: LineCursor, mayBeThere: boolean): Promise<Imported> {
  const lines = cursor.while((line, index) => index === 0 || isRecord(line));
  try {
    const { session } = await importSession(log, lines);
    return { session, isKept: false };
  } catch (error) {
    const isThere = error instanceof LogError && error.code === 'session_exists';
    if (!isThere || !mayBeThere) throw error;
    // Its lines are read, though not taken: the next session comes after them.
    for await (const _ of cursor.while(isRecord));
    return { session: error.place['session'] as SessionId, isKept: true };
  }
}

/** Readers of a part of the file count from where it begins; people count from the file's start. */
async function numbered<T>(cursor: LineCursor, read: () => Promise<T>): Promise<T> {
  const before = cursor.number;
  try {
    return await read();
  } catch (error) {
    throw inFile(error, before);
  }
}

function inFile(error: unknown, before: number): unknown {
  const line = error instanceof LogError ? error.place['line'] : undefined;
  if (!(error instanceof LogError) || typeof line !== 'number') return error;
  const message = error.message.replace(`line ${line}:`, `line ${before + line}:`);
  const place = { ...error.place, line: before + line };
  return new LogError(error.code, message, place, { cause: error });
}
