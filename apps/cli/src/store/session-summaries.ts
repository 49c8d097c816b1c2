import { experimentSessionName } from '@millrace/agent/evals';
import {
  type FilePart,
  Folder,
  type Ids,
  type Item,
  isId,
  type MediaPart,
  randomIds,
  type SessionId,
  transcript,
} from '@millrace/core';
import { type Log, LogError, type SessionInfo } from '@millrace/log';
import { SessionLookupError } from '../contract/errors.ts';

/** The number of characters of a short id in lists and messages. */
export const shortIdLength = 8;

/**
 * Finds a session by its id or by the start of its id. `last` means the most recently changed
 * session of this folder.
 */
export async function findSession(log: Log, which: string, cwd: string): Promise<SessionSummary> {
  if (which === 'last') return findLast(log, cwd);
  const exact = isId(which) ? await log.info(which as SessionId) : undefined;
  const info = exact ?? (await findByPrefix(log, which));
  const drivers = await currentDrivers(log, [info]);
  return summarize(log, info, drivers.get(info.session));
}

async function findLast(log: Log, cwd: string): Promise<SessionSummary> {
  for await (const last of newestSummaries(log, { cwd })) return last;
  const message = `Cannot continue the last session of ${cwd}: there is none. Start one with millrace, or list all sessions with millrace sessions --all`;
  throw new SessionLookupError('no_such_session', message, { cwd });
}

async function findByPrefix(log: Log, prefix: string): Promise<SessionInfo> {
  const found = (await log.list()).filter(({ session }) => session.startsWith(prefix));
  const [first, ...others] = prefix === '' ? [] : found;
  if (first === undefined) throw notFoundError(prefix);
  if (others.length > 0) throw ambiguousError(prefix, found);
  return first;
}

function notFoundError(id: string): SessionLookupError {
  const message = `Cannot find session ${id}: no session id starts with it. List them with millrace sessions --all`;
  return new SessionLookupError('no_such_session', message, { session: id });
}

/**
 * Creates the error for several matching sessions. Its message lists some ids, with enough
 * characters to distinguish them.
 */
function ambiguousError(prefix: string, found: readonly SessionInfo[]): SessionLookupError {
  const named = found.slice(0, 5).map(({ session }) => session.slice(0, prefix.length + 4));
  const more = found.length > named.length ? ', …' : '';
  const message = `The session id ${prefix} is ambiguous: ${found.length} sessions start with it (${named.join(', ')}${more}). Type more of the id`;
  return new SessionLookupError('ambiguous_session', message, { session: prefix });
}

interface ListSummariesOptions {
  /** If set, only sessions of this folder are included. */
  readonly cwd?: string | undefined;
  /** Maximum number of sessions. Default: all. */
  readonly limit?: number | undefined;
}

/** Returns the sessions of a store, most recently changed first. */
export async function listSummaries(
  log: Log,
  options: ListSummariesOptions = {},
): Promise<readonly SessionSummary[]> {
  const { limit = Number.POSITIVE_INFINITY } = options;
  const summaries: SessionSummary[] = [];
  for await (const summary of newestSummaries(log, options)) {
    if (summaries.length >= limit) break;
    summaries.push(summary);
  }
  return summaries;
}

/** Yields one summary at a time. So a search for the last session does not read all sessions. */
async function* newestSummaries(
  log: Log,
  { cwd }: ListSummariesOptions = {},
): AsyncGenerator<SessionSummary> {
  const infos = [...(await log.list())].sort(
    (a, b) => b.changedAt - a.changedAt || (a.session < b.session ? -1 : 1),
  );
  const drivers = await currentDrivers(log, infos);
  for (const info of infos) {
    const summary = await summarize(log, info, drivers.get(info.session));
    if (cwd === undefined || summary.cwd === cwd) yield summary;
  }
}

/**
 * Returns the name of the process that drives each session. If that process has ended, the session
 * has no driver.
 */
export async function currentDrivers(
  log: Log,
  infos: readonly SessionInfo[],
): Promise<ReadonlyMap<SessionId, string>> {
  const waiting = new Set((await log.list({ isWaiting: true })).map(({ session }) => session));
  return new Map(
    infos.flatMap(({ session, lease }) =>
      lease === undefined || waiting.has(session) ? [] : [[session, lease.holder] as const],
    ),
  );
}

/** Returns a note for lists if the session is a fork. The note distinguishes it from its parent. */
export function forkText({ forkOf }: Pick<SessionSummary, 'forkOf'>): string | undefined {
  return forkOf === undefined ? undefined : `fork of ${forkOf.slice(0, shortIdLength)}`;
}

/** The data of a session that lists show. */
export interface SessionSummary {
  readonly id: SessionId;
  /** The user's first message in one line, or the name of a session of an experiment. */
  readonly title: string;
  /** The folder of the session. Undefined for sub-agents and for sessions of other programs. */
  readonly cwd: string | undefined;
  /** The time at which the session last changed, in milliseconds since 1970. */
  readonly changedAt: number;
  /** The id of the session from which this one was forked. Undefined if it is not a fork. */
  readonly forkOf: SessionId | undefined;
  /** The last offset that a fork copied. Undefined if it is not a fork. */
  readonly forkThrough: number | undefined;
  readonly through: number;
  /** True if the session has interrupted work, waits for an answer, or has a queued message. */
  readonly hasWork: boolean;
  /** The name of the process that drives the session now. Undefined if there is none. */
  readonly holder: string | undefined;
}

/**
 * The page size to search for the first message of a session, which is near its start. A page
 * contains at least one record, even if the record is larger.
 */
const pageBytes = 1024;
const maxPages = 16;
const titleLength = 200;

async function summarize(
  log: Log,
  info: SessionInfo,
  holder: string | undefined,
): Promise<SessionSummary> {
  const { session: id, changedAt, through, hasWork } = info;
  // Runs of an experiment have the same first message, and the votes of its judges start with the same text.
  const experiment = experimentSessionName(id);
  const isNamed = info.isDamaged || experiment !== undefined;
  const first = isNamed ? undefined : await firstUserItem(log, info);
  const cwd = first?.metadata?.['cwd'];
  return {
    id,
    title: info.isDamaged ? '(damaged)' : (experiment ?? titleText(first)),
    cwd: typeof cwd === 'string' ? cwd : undefined,
    forkOf: info.origin?.session,
    forkThrough: info.origin?.through,
    ...{ changedAt, through, hasWork, holder },
  };
}

/** Returns the first user item that has text. */
async function firstUserItem(
  log: Log,
  { session, through }: SessionInfo,
): Promise<Item | undefined> {
  const folder = new Folder(session);
  for (let page = 0; page < maxPages && folder.state.through < through; page++) {
    const from = folder.state.through;
    const batch = await log.read(session, { from, maxBytes: pageBytes }).catch(unreadable);
    if (batch === undefined || folder.addBatch(batch).outcome !== 'applied') return undefined;
    const said = transcript(folder.state).find(
      ({ kind, parts }) => kind === 'user' && parts.some((part) => part.kind === 'text'),
    );
    if (said !== undefined) return said;
  }
  return transcript(folder.state).find(({ kind }) => kind === 'user');
}

/**
 * Ignores an error of the log. If one session cannot be read, the list must still show the others.
 */
function unreadable(error: unknown): undefined {
  if (error instanceof LogError) return undefined;
  throw error;
}

function titleText(item: Item | undefined): string {
  if (item?.redacted) return '(redacted)';
  const text = item?.parts.find((part) => part.kind === 'text')?.text ?? '';
  const words = text
    .slice(0, titleLength * 4)
    .replace(/\s+/g, ' ')
    .trim();
  return words.slice(0, titleLength).toWellFormed();
}

interface UserItemOptions {
  readonly cwd: string;
  /** Pictures and documents of the message. Default: none. */
  readonly pictures?: readonly (MediaPart | FilePart)[] | undefined;
  readonly ids?: Pick<Ids, 'item'> | undefined;
}

const systemIds = randomIds((bytes) => crypto.getRandomValues(bytes));

/** Creates a user message. Its metadata contains the folder, which `summarize` reads. */
export function userItem(texts: readonly string[], options: UserItemOptions): Item {
  const { cwd, pictures = [], ids = systemIds } = options;
  const parts = texts.map((text) => ({ kind: 'text', text }) as const);
  return { id: ids.item(), kind: 'user', parts: [...parts, ...pictures], metadata: { cwd } };
}
