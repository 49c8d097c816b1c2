import { resolve } from 'node:path';
import { isMillraceError, randomIds, type SessionId } from '@millrace/core';
import { importBlobs, importSession, type Log, LogError } from '@millrace/log';
import { commandHint } from '../args/command-hint.ts';
import { UsageError } from '../contract/errors.ts';
import { exitCodes } from '../exit-code.ts';
import { readPieces } from '../safe-files.ts';
import {
  isBlob,
  isRecord,
  LineCursor,
  readError,
  readLines,
  withFileLines,
} from './export-lines.ts';
import type { SessionsContext } from './sessions-context.ts';

const ids = randomIds((bytes) => crypto.getRandomValues(bytes));

/** Imports sessions from files or from standard input. Prints the ids, one per line. */
export async function importSessions(context: SessionsContext): Promise<number> {
  const { args, stdin } = context;
  if (args.operands.length === 0 && stdin.isTTY)
    throw new UsageError(
      'Cannot import: there is no input. Name a file (millrace sessions import file.jsonl), or pipe one in',
    );
  const sources = args.operands.length === 0 ? [undefined] : args.operands;
  for (const source of sources) await importFrom(source, context);
  return exitCodes.done;
}

async function importFrom(
  path: string | undefined,
  { log, output, notes, stdin, cwd }: SessionsContext,
): Promise<void> {
  const input = path === undefined ? stdin : readPieces(resolve(cwd, path));
  try {
    for await (const { session, existedBefore } of importLines(log, readLines(input), cwd)) {
      if (existedBefore) await notes.write(`Session ${session} already exists and is unchanged\n`);
      else await output.write(`${session}\n`);
    }
  } catch (error) {
    throw isMillraceError(error) ? error : readError(path, error);
  }
}

/** One imported session. */
interface ImportedSession {
  readonly session: SessionId;
  /** True if the session already existed. In this case, it was not changed. */
  readonly existedBefore: boolean;
}

/**
 * Imports the sessions of an export one by one. Each session is imported completely or not at all.
 * Errors contain the line number in the file.
 *
 * It is an error if the first session exists already. The following sessions may exist. The sessions belong to the
 * folder `cwd` afterwards. The sessions of sub-agents get new ids.
 */
export async function* importLines(
  log: Log,
  lines: AsyncIterable<string>,
  cwd: string,
): AsyncGenerator<ImportedSession> {
  const cursor = new LineCursor(lines);
  const children = new Map<SessionId, SessionId>();
  for (let count = 0; count === 0 || (await cursor.peek()) !== undefined; count++) {
    await withFileLines(cursor, () => importBlobs(log, cursor.takeWhile(isBlob)));
    yield await withFileLines(cursor, () =>
      importOne(log, cursor, { cwd, children, mayBeThere: count > 0 }),
    );
  }
}

interface ImportPlace {
  readonly cwd: string;
  /** The new ids of the sub-agents' sessions that the file has named so far. */
  readonly children: Map<SessionId, SessionId>;
  readonly mayBeThere: boolean;
}

async function importOne(
  log: Log,
  cursor: LineCursor,
  { cwd, children, mayBeThere }: ImportPlace,
): Promise<ImportedSession> {
  const lines = cursor.takeWhile((line, index) => index === 0 || isRecord(line));
  try {
    // The file may come from another person. It must not choose the folder in which the daemon continues the
    // session, so the session belongs to the folder of this command.
    const into = idAfterImport(await cursor.peek(), children);
    // A link of the file could name a session that this user has or creates later. `sessions delete` and
    // `sessions export` would include this session. So a link names only a session of the same file.
    const childId = (named: SessionId) => newChildId(named, children);
    const { session } = await importSession(log, lines, { into, childId, metadata: { cwd } });
    return { session, existedBefore: false };
  } catch (error) {
    const isThere = error instanceof LogError && error.code === 'session_exists';
    if (!isThere) throw error;
    if (!mayBeThere) throw isInStore(error);
    // The session exists, so its lines are skipped. The next session follows them.
    for await (const _ of cursor.takeWhile(isRecord));
    return { session: error.place['session'] as SessionId, existedBefore: true };
  }
}

function isInStore(cause: LogError): LogError {
  const id = String(cause.place['session']);
  const message = `Cannot import session ${id}: it already exists. Delete the existing session with ${commandHint({}, 'sessions delete', id)}, or import the file into another store with --store <file>`;
  return new LogError(cause.code, message, cause.place, { cause });
}

/**
 * Returns the id of an imported session if it must differ from the id in the file. A session of a sub-agent gets its
 * new id. An experiment reuses the results in the sessions below `eval/`, so a file of another person must not create
 * such a session.
 */
function idAfterImport(
  header: string | undefined,
  children: ReadonlyMap<SessionId, SessionId>,
): string | undefined {
  try {
    const { session } = JSON.parse(header ?? '') as { readonly session?: unknown };
    if (typeof session !== 'string') return undefined;
    const child = children.get(session as SessionId);
    return child ?? (session.startsWith('eval/') ? `imported/${session}` : undefined);
  } catch {
    // The line is not a header. `importSession` reports it with its line number.
    return undefined;
  }
}

function newChildId(named: SessionId, children: Map<SessionId, SessionId>): SessionId {
  const id = children.get(named) ?? ids.session();
  children.set(named, id);
  return id;
}
