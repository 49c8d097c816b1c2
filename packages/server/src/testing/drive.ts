import type { DraftRecord, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/** Writes what was said, read by read. */
export async function drive(
  log: Log,
  session: SessionId,
  reads: readonly (readonly DraftRecord[])[],
  options: { readonly isClosed?: boolean; readonly between?: () => Promise<void> } = {},
): Promise<void> {
  const driver = await log.open(session);
  for (const read of reads) {
    await driver.append(read);
    await options.between?.();
  }
  if (options.isClosed) await driver.closeSession();
  else await driver.release();
}
