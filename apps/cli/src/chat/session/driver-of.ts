import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { driversOf } from '../../store/sessions-of.ts';

/** Who works on a session now, and whether somebody should. */
export interface Driving {
  /** By the name it gave; undefined where nobody does. */
  readonly holder: string | undefined;
  /** Something was cut short, waits for an answer, or is in the queue. */
  readonly hasWork: boolean;
}

export async function driverOf(log: Log, session: SessionId): Promise<Driving> {
  const info = await log.info(session);
  // Without work nobody drives, whatever a process that ended left behind.
  if (info === undefined || !info.hasWork) return { holder: undefined, hasWork: false };
  const drivers = await driversOf(log, [info]);
  return { holder: drivers.get(session), hasWork: true };
}
