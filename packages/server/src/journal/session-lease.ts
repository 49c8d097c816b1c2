import { isMillraceError, type SessionId } from '@millrace/core';
import { type Clock, type Driver, type Log, LogError, type OpenOptions } from '@millrace/log';

interface LeaseWait {
  readonly log: Log;
  readonly clock: Clock;
  /** How long to wait for a lease that another process holds, in milliseconds. */
  readonly leaseWaitMs: number;
}

const retryMs = 50;

/** Takes the lease of a session. If another process holds it, the function retries for `leaseWaitMs`. */
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
 * Creates the session of a task if it does not exist. This is the case for a new task, and for a task whose
 * log was lost or replaced.
 */
export async function ensureSession(log: Log, session: SessionId): Promise<void> {
  if ((await log.info(session)) !== undefined) return;
  try {
    const driver = await log.open(session, { holder: 'a task without a session' });
    await driver.release();
  } catch (error) {
    // Another process created the session at the same time.
    if (!(error instanceof LogError) || error.code !== 'held') throw error;
  }
}
