import { type SessionId, toArray } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { SessionLookupError } from '../contract/errors.ts';
import { findSession, type SessionSummary } from '../store/session-summaries.ts';

/** A session with work, for `millrace ps`. */
export interface WorkingSession {
  readonly id: SessionId;
  readonly title: string;
  readonly cwd: string | undefined;
  /**
   * `running`: a process drives it. `waiting`: it waits for an answer of the user. `queued`: a message waits
   * for a driver. `interrupted`: no process drives its run.
   */
  readonly state: 'running' | 'waiting' | 'queued' | 'interrupted';
  /** The name of the process that drives the session. Null if there is none. */
  readonly driver: string | null;
  /** The time at which the last message was sent, in milliseconds since 1970. */
  readonly since: number;
}

/**
 * Returns the sessions with work. The session with the newest message is first. Sessions of
 * sub-agents are left out.
 */
export async function workingSessions(log: Log): Promise<readonly WorkingSession[]> {
  const found: WorkingSession[] = [];
  for (const { session, hasWork, isDamaged } of await log.list()) {
    if (!hasWork || isDamaged) continue;
    const summary = await findSession(log, session, '');
    if (summary.cwd !== undefined) found.push(await describe(log, summary));
  }
  return found.sort((one, other) => other.since - one.since);
}

async function describe(log: Log, summary: SessionSummary): Promise<WorkingSession> {
  const { id, title, cwd, holder, changedAt } = summary;
  const { asked, run, items } = await snapshot(log, id);
  const message = toArray(items).findLast(({ kind }) => kind === 'user');
  const idle = run === undefined ? 'queued' : 'interrupted';
  const state = asked.length > 0 ? 'waiting' : holder === undefined ? idle : 'running';
  return {
    ...{ id, title, cwd, state, driver: holder ?? null },
    since: message?.startedAt ?? changedAt,
  };
}

/**
 * Finds the session for `attach` and `share`: by its id, or the session with work that changed last, or the
 * last session of the folder.
 */
export async function findWorking(
  log: Log,
  which: string | undefined,
  cwd: string,
): Promise<SessionSummary> {
  if (which !== undefined) return findSession(log, which, cwd);
  const [first] = await workingSessions(log);
  if (first !== undefined) return findSession(log, first.id, cwd);
  return findSession(log, 'last', cwd).catch((error: unknown) => {
    if (!(error instanceof SessionLookupError)) throw error;
    const message = 'There is no session with work. List all sessions with millrace sessions --all';
    throw new SessionLookupError('no_such_session', message, {});
  });
}
