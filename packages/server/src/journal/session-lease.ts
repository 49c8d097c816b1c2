import { isMillraceError, type SessionId } from '@millrace/core';
import { type Clock, type Driver, type Log, LogError, type OpenOptions } from '@millrace/log';

interface LeaseWait {
  readonly log: Log;
  readonly clock: Clock;
  /** The time to wait for a lease that a different process holds, in milliseconds. */
  readonly leaseWaitMs: number;
}

const retryMs = 50;

/**
 * Acquires the lease of a session. If a different process holds the lease, the function retries for
 * `leaseWaitMs`.
 */
export async function takeLease(
  session: SessionId,
  options: OpenOptions,
  { log, clock, leaseWaitMs }: LeaseWait,
): Promise<Driver> {
  const deadline = clock.now() + leaseWaitMs;
  for (;;) {
    try {
      return await log.open(session, options);
    } catch (error) {
      const isHeld = isMillraceError(error) && error.code === 'held';
      if (!isHeld || clock.now() >= deadline) throw error;
    }
    await new Promise<void>((resolve) => clock.after(retryMs, resolve));
  }
}

/**
 * Creates the session of a task if it does not exist. It does not exist for a new task, or if the log was
 * lost or replaced.
 */
export async function ensureSession(log: Log, session: SessionId): Promise<void> {
  if ((await log.info(session)) !== undefined) return;
  try {
    const driver = await log.open(session, { holder: 'a task without a session' });
    await driver.release();
  } catch (error) {
    // A different process created the session at the same time.
    if (!(error instanceof LogError) || error.code !== 'held') throw error;
  }
}
