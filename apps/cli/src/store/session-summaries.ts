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
import { commandHint, type PlaceFlags } from '../args/command-hint.ts';
import { SessionLookupError } from '../contract/errors.ts';

/** The minimum number of characters of a short id in lists and messages. */
export const shortIdLength = 8;

/**
 * Returns a function that shortens the ids of a store. A short id is the start of its id that no other id of the
 * store has, so a command finds the session with it. An id that is the start of another id stays whole. Ids with
 * slashes, such as those of experiments, are cut only before a slash.
 */
export function shortIds(ids: Iterable<SessionId>): ShortId {
  const sorted = [...new Set(ids)].sort();
  const lengths = new Map(
    sorted.map((id, at) => {
      const own = Math.max(sharedLength(id, sorted[at - 1]), sharedLength(id, sorted[at + 1])) + 1;
      return [id, Math.max(shortIdLength, own)] as const;
    }),
  );
  return (id) => {
    const length = lengths.get(id) ?? id.length;
    if (id.includes('/')) return id.split('/', id.slice(0, length).split('/').length).join('/');
    // A character of two code units stays whole.
    const short = id.slice(0, length);
    return short.isWellFormed() ? short : id.slice(0, length + 1);
  };
}

/** Shortens the id of a session. */
export type ShortId = (id: SessionId) => string;

/** Returns a function that shortens the ids of the sessions of a log. See `shortIds`. */
export async function shortIdsOf(log: Pick<Log, 'list'>): Promise<ShortId> {
  return shortIds((await log.list()).map(({ session }) => session));
}

/**
 * Shortens an id without a list of all ids. The ids of sessions that the terminal starts are random, so their first
 * characters differ. Other ids stay whole.
 */
export function shortRandomId(id: string): string {
  return /^[0-9a-z]{24}$/.test(id) ? id.slice(0, shortIdLength) : id;
}

function sharedLength(one: string, other = ''): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

/** The folder and the flags with which a command looks for a session. */
export interface SessionPlace {
  /** The folder whose last session is `last`. */
  readonly cwd: string;
  /** The flags of the current command. Error messages repeat them in the commands that they propose. Default: none. */
  readonly flags?: PlaceFlags | undefined;
  /**
   * True if `last` can only be a session of the folder. Otherwise, if the user names the store with `--store` and
   * the folder has no session, `last` is the newest session of the store. Default: false.
   */
  readonly isFolderOnly?: boolean | undefined;
}

/**
 * Finds a session by its id or by the start of its id. `last` means the most recently changed
 * session of this folder.
 */
export async function findSession(
  log: Log,
  which: string,
  place: SessionPlace,
): Promise<SessionSummary> {
  if (which === 'last') return findLast(log, place);
  const exact = isId(which) ? await log.info(which as SessionId) : undefined;
  const info = exact ?? (await findByPrefix(log, which, place));
  const drivers = await currentDrivers(log, [info]);
  return summarize(log, info, drivers.get(info.session));
}

async function findLast(
  log: Log,
  { cwd, flags = {}, isFolderOnly = false }: SessionPlace,
): Promise<SessionSummary> {
  const folders = flags.store === undefined || isFolderOnly ? [cwd] : [cwd, undefined];
  for (const folder of folders)
    for await (const last of newestSummaries(log, { cwd: folder })) return last;
  const list = commandHint(flags, 'sessions --all');
  const message = folders.includes(undefined)
    ? `There is no last session: ${flags.store} has no session`
    : `There is no last session of the folder ${cwd}. Start one with millrace, or name the id of another session: ${list}`;
  throw new SessionLookupError('no_such_session', message, { cwd });
}

async function findByPrefix(
  log: Log,
  prefix: string,
  { flags = {} }: SessionPlace,
): Promise<SessionInfo> {
  const all = await log.list();
  const found = all.filter(({ session }) => session.startsWith(prefix));
  const [first, ...others] = prefix === '' ? [] : found;
  if (first === undefined) throw notFoundError(prefix, flags);
  if (others.length > 0)
    throw ambiguousError(prefix, found, shortIds(all.map(({ session }) => session)));
  return first;
}

function notFoundError(id: string, flags: PlaceFlags): SessionLookupError {
  const message = `Cannot find session ${id}: no session id starts with it. List them with ${commandHint(flags, 'sessions --all')}`;
  return new SessionLookupError('no_such_session', message, { session: id });
}

/**
 * Creates the error for several matching sessions. Its message lists some ids, with enough
 * characters to find the sessions with them.
 */
function ambiguousError(
  prefix: string,
  found: readonly SessionInfo[],
  short: ShortId,
): SessionLookupError {
  const named = found.slice(0, 5).map(({ session }) => short(session));
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
  for await (const summary of summariesOf(log, infos))
    if (cwd === undefined || summary.cwd === cwd) yield summary;
}

/** Yields the summaries of these sessions in their order. It looks up the drivers of all of them at once. */
export async function* summariesOf(
  log: Log,
  infos: readonly SessionInfo[],
): AsyncGenerator<SessionSummary> {
  const drivers = await currentDrivers(log, infos);
  for (const info of infos) yield await summarize(log, info, drivers.get(info.session));
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
export function forkText(
  { forkOf }: Pick<SessionSummary, 'forkOf'>,
  short: ShortId,
): string | undefined {
  return forkOf === undefined ? undefined : `fork of ${short(forkOf)}`;
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
  // The title of a session of an experiment comes from its id. The first messages would not distinguish these
  // sessions: many runs have the same first message, and the texts for judges start in the same way.
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
