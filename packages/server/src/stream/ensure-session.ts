import type { SessionId } from '@millrace/core';
import { type Log, LogError } from '@millrace/log';

/** A task whose log was lost, or is another one since, is a task in which nothing was said yet. */
export async function ensureSession(log: Log, session: SessionId): Promise<void> {
  if ((await log.info(session)) !== undefined) return;
  try {
    const driver = await log.open(session, { holder: 'a task that is looked at' });
    await driver.release();
  } catch (error) {
    // Somebody else made it meanwhile.
    if (!(error instanceof LogError) || error.code !== 'held') throw error;
  }
}
