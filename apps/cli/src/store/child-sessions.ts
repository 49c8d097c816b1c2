import { ownChild, type SessionId } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';

/**
 * Returns the sessions of all sub-agents below a session, each of them once. Deleted sessions are
 * not included. The sub-agents of a copied call belong to the original session, so they are not included either.
 */
export async function findChildSessions(
  log: Log,
  session: SessionId,
): Promise<readonly SessionId[]> {
  const found = new Set([session]);
  // The loop also visits entries that are added to the set during the iteration. So it includes
  // children of children.
  for (const parent of found)
    for await (const { fact } of readRecords(log, parent)) {
      const child = fact?.type === 'tool_execution_started' ? ownChild(fact, parent) : undefined;
      if (child !== undefined && (await log.info(child)) !== undefined) found.add(child);
    }
  found.delete(session);
  return [...found];
}
