import { isMillraceError, type SessionId } from '@millrace/core';
import type { Clock, Driver, Log, OpenOptions } from '@millrace/log';

export interface LeaseWait {
  readonly log: Log;
  readonly clock: Clock;
  /** How long a lease that somebody else has is waited for. */
  readonly patienceMs: number;
}

const pauseMs = 50;

/** Takes the lease of a session, if need be when its holder gives it back in a moment. */
export async function takeLease(
  session: SessionId,
  options: OpenOptions,
  { log, clock, patienceMs }: LeaseWait,
): Promise<Driver> {
  const until = clock.now() + patienceMs;
  for (;;) {
    try {
      return await log.open(session, options);
    } catch (error) {
      const isHeld = isMillraceError(error) && error.code === 'held';
      if (!isHeld || clock.now() >= until) throw error;
    }
    await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
  }
}
