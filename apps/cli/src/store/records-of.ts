import type { LogRecord, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/** What a session has at the moment, record by record. */
export async function* recordsOf(log: Log, session: SessionId): AsyncGenerator<LogRecord> {
  for (let from = 0; ; ) {
    const { records, through } = await log.read(session, { from });
    yield* records;
    if (through <= from) return;
    from = through;
  }
}
