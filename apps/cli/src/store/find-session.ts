import { isId, type SessionId } from '@millrace/core';
import type { Log, SessionInfo } from '@millrace/log';
import { SessionLookupError } from './session-lookup-error.ts';
import { type SessionSummary, summaryOf } from './session-summary.ts';
import { driversOf, newestSessions } from './sessions-of.ts';

/** So many of an id as a list shows, and as a message names. */
export const shortIdLength = 8;

/** `last` is the one of this folder that changed last; anything else an id, or the beginning of one. */
export async function findSession(log: Log, which: string, cwd: string): Promise<SessionSummary> {
  if (which === 'last') return lastOf(log, cwd);
  const exact = isId(which) ? await log.info(which as SessionId) : undefined;
  const info = exact ?? (await byPrefix(log, which));
  const drivers = await driversOf(log, [info]);
  return summaryOf(log, info, drivers.get(info.session));
}

async function lastOf(log: Log, cwd: string): Promise<SessionSummary> {
  for await (const last of newestSessions(log, { cwd })) return last;
  const message = `Cannot go on with the last session of ${cwd}: there is none. Begin one with millrace, or see those of other folders with millrace sessions --all`;
  throw new SessionLookupError('no_such_session', message, { cwd });
}

async function byPrefix(log: Log, prefix: string): Promise<SessionInfo> {
  const found = (await log.list()).filter(({ session }) => session.startsWith(prefix));
  const [first, ...others] = prefix === '' ? [] : found;
  if (first === undefined) throw none(prefix);
  if (others.length > 0) throw several(prefix, found);
  return first;
}

function none(id: string): SessionLookupError {
  const message = `Cannot find session ${id}: there is none whose id begins so. See them with millrace sessions --all`;
  return new SessionLookupError('no_such_session', message, { session: id });
}

/** Names some of them by as much as tells them apart. */
function several(prefix: string, found: readonly SessionInfo[]): SessionLookupError {
  const named = found.slice(0, 5).map(({ session }) => session.slice(0, prefix.length + 4));
  const more = found.length > named.length ? ', …' : '';
  const message = `Cannot tell which session ${prefix} is: ${found.length} begin so (${named.join(', ')}${more}). Give more of its id`;
  return new SessionLookupError('ambiguous_session', message, { session: prefix });
}
