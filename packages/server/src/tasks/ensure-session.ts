import type { SessionId } from '@millrace/core';
import { type Log, LogError } from '@millrace/log';

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
