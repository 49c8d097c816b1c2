import type { LogRecord, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/** What a session has at the moment, record by record. */
export async function* readRecords(log: Log, session: SessionId): AsyncGenerator<LogRecord> {
  for (let from = 0; ; ) {
    const { records, through } = await log.read(session, { from });
    yield* records;
    if (through <= from) return;
    from = through;
  }
}

/** The sessions that sub-agents had for this one, and theirs, each once and as far as they are there. */
export async function findChildSessions(
  log: Log,
  session: SessionId,
): Promise<readonly SessionId[]> {
  const found = new Set([session]);
  // A set can grow while it is walked: what is found on the way is walked too.
  for (const parent of found)
    for await (const { fact } of readRecords(log, parent)) {
      const child = fact?.type === 'tool_execution_started' ? fact.child : undefined;
      if (child !== undefined && (await log.info(child)) !== undefined) found.add(child);
    }
  found.delete(session);
  return [...found];
}
