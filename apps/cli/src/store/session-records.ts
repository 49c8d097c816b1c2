import type { LogRecord, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/** Yields the current records of a session. */
export async function* readRecords(log: Log, session: SessionId): AsyncGenerator<LogRecord> {
  for (let from = 0; ; ) {
    const { records, through } = await log.read(session, { from });
    yield* records;
    if (through <= from) return;
    from = through;
  }
}

/**
 * Returns the sessions of all sub-agents below a session, each once. Deleted sessions are left out.
 */
export async function findChildSessions(
  log: Log,
  session: SessionId,
): Promise<readonly SessionId[]> {
  const found = new Set([session]);
  // A set can grow during iteration, so children of children are visited too.
  for (const parent of found)
    for await (const { fact } of readRecords(log, parent)) {
      const child = fact?.type === 'tool_execution_started' ? fact.child : undefined;
      if (child !== undefined && (await log.info(child)) !== undefined) found.add(child);
    }
  found.delete(session);
  return [...found];
}
