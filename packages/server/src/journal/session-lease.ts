import { isMillraceError, type SessionId } from '@millrace/core';
import { type Clock, type Driver, type Log, LogError, type OpenOptions } from '@millrace/log';

interface LeaseWait {
  readonly log: Log;
  readonly clock: Clock;
  /** How long a lease that somebody else has is waited for. */
  readonly leaseWaitMs: number;
}

const retryMs = 50;

/** Takes the lease of a session, if need be when its holder gives it back in a moment. */
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

/** Of a new task; and of one whose log was lost, or is another one since: nothing was said in it yet. */
export async function ensureSession(log: Log, session: SessionId): Promise<void> {
  if ((await log.info(session)) !== undefined) return;
  try {
    const driver = await log.open(session, { holder: 'a task without a session' });
    await driver.release();
  } catch (error) {
    // Somebody else made it meanwhile.
    if (!(error instanceof LogError) || error.code !== 'held') throw error;
  }
}
