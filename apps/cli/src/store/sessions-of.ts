import type { SessionId } from '@millrace/core';
import type { Log, SessionInfo } from '@millrace/log';
import { type SessionSummary, summaryOf } from './session-summary.ts';

export interface SessionsOfOptions {
  /** Only those that are about this folder. */
  readonly cwd?: string | undefined;
}

/** The sessions of a store, the one that changed last first. */
export async function sessionsOf(
  log: Log,
  options: SessionsOfOptions = {},
): Promise<readonly SessionSummary[]> {
  const summaries: SessionSummary[] = [];
  for await (const summary of newestSessions(log, options)) summaries.push(summary);
  return summaries;
}

/** The same one by one, so that who needs the last alone does not wait for all. */
export async function* newestSessions(
  log: Log,
  { cwd }: SessionsOfOptions = {},
): AsyncGenerator<SessionSummary> {
  const infos = [...(await log.list())].sort(
    (a, b) => b.changedAt - a.changedAt || (a.session < b.session ? -1 : 1),
  );
  const drivers = await driversOf(log, infos);
  for (const info of infos) {
    const summary = await summaryOf(log, info, drivers.get(info.session));
    if (cwd === undefined || summary.cwd === cwd) yield summary;
  }
}

/** Who drives what. The lease of a process that died is no driver: such a session waits for one. */
export async function driversOf(
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
