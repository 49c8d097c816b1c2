import {
  Folder,
  type Ids,
  type Item,
  isId,
  randomIds,
  type SessionId,
  transcript,
} from '@millrace/core';
import { type Log, LogError, type SessionInfo } from '@millrace/log';
import { SessionLookupError } from '../contract/errors.ts';

/** So many of an id as a list shows, and as a message names. */
export const shortIdLength = 8;

/** `last` is the one of this folder that changed last; anything else an id, or the beginning of one. */
export async function findSession(log: Log, which: string, cwd: string): Promise<SessionSummary> {
  if (which === 'last') return findLast(log, cwd);
  const exact = isId(which) ? await log.info(which as SessionId) : undefined;
  const info = exact ?? (await findByPrefix(log, which));
  const drivers = await currentDrivers(log, [info]);
  return summarize(log, info, drivers.get(info.session));
}

async function findLast(log: Log, cwd: string): Promise<SessionSummary> {
  for await (const last of newestSummaries(log, { cwd })) return last;
  const message = `Cannot go on with the last session of ${cwd}: there is none. Begin one with millrace, or see those of other folders with millrace sessions --all`;
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
  const message = `Cannot find session ${id}: there is none whose id begins so. See them with millrace sessions --all`;
  return new SessionLookupError('no_such_session', message, { session: id });
}

/** Names some of them by as much as tells them apart. */
function ambiguousError(prefix: string, found: readonly SessionInfo[]): SessionLookupError {
  const named = found.slice(0, 5).map(({ session }) => session.slice(0, prefix.length + 4));
  const more = found.length > named.length ? ', …' : '';
  const message = `Cannot tell which session ${prefix} is: ${found.length} begin so (${named.join(', ')}${more}). Give more of its id`;
  return new SessionLookupError('ambiguous_session', message, { session: prefix });
}

interface ListSummariesOptions {
  /** Only those that are about this folder. */
  readonly cwd?: string | undefined;
}

/** The sessions of a store, the one that changed last first. */
export async function listSummaries(
  log: Log,
  options: ListSummariesOptions = {},
): Promise<readonly SessionSummary[]> {
  const summaries: SessionSummary[] = [];
  for await (const summary of newestSummaries(log, options)) summaries.push(summary);
  return summaries;
}

/** The same one by one, so that who needs the last alone does not wait for all. */
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

/** Who drives what. The lease of a process that died is no driver: such a session waits for one. */
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

/** A session as lists show it. */
export interface SessionSummary {
  readonly id: SessionId;
  /** The first words that somebody said in it, in one line. */
  readonly title: string;
  /** The folder that it is about; unknown of sub-agents and of what other programs made. */
  readonly cwd: string | undefined;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
  readonly through: number;
  /** Something was cut short, waits for an answer, or is in its queue. */
  readonly hasWork: boolean;
  /** Who drives it now. */
  readonly holder: string | undefined;
}

/** What somebody said first stands at the beginning; a page has at least one record, however long. */
const pageBytes = 1024;
const maxPages = 16;
const titleLength = 200;

async function summarize(
  log: Log,
  info: SessionInfo,
  holder: string | undefined,
): Promise<SessionSummary> {
  const { session: id, changedAt, through, hasWork } = info;
  const first = info.isDamaged ? undefined : await firstUserItem(log, info);
  const cwd = first?.metadata?.['cwd'];
  return {
    id,
    title: info.isDamaged ? '(damaged)' : titleText(first),
    cwd: typeof cwd === 'string' ? cwd : undefined,
    ...{ changedAt, through, hasWork, holder },
  };
}

/** The first item of a user that says anything. */
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

/** One session that cannot be read is no reason to list none. */
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
  readonly ids?: Pick<Ids, 'item'> | undefined;
}

const systemIds = randomIds((bytes) => crypto.getRandomValues(bytes));

/** What a person says, with the folder that it is about: lists of sessions find it there. */
export function userItem(texts: readonly string[], options: UserItemOptions): Item {
  const { cwd, ids = systemIds } = options;
  const parts = texts.map((text) => ({ kind: 'text', text }) as const);
  return { id: ids.item(), kind: 'user', parts, metadata: { cwd } };
}
