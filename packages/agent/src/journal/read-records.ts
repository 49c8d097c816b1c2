import type { LogRecord, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/** All that a session's log has at the moment, in order. */
export async function readRecords(log: Log, session: SessionId): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for (let from = 0; ; ) {
    const batch = await log.read(session, { from });
    for (const record of batch.records) records.push(record);
    if (batch.through <= from) return records;
    from = batch.through;
  }
}
