import { type FileVersion, ownChild, type SessionId, sessionId } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';

/** A file change by a tool of a session. */
export interface FileChangeOnLog {
  /**
   * The offset of the change in the session that was read. A change by a sub-agent has the offset of the call
   * that runs the sub-agent.
   */
  readonly offset: number;
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** The file before the change. Undefined if the file did not exist. */
  readonly before: FileVersion | undefined;
  /** The file after the change. Undefined if the file was deleted. */
  readonly after: FileVersion | undefined;
  /** The name of the tool. */
  readonly tool: string;
  /**
   * True if the tool may have changed `path` and any file below it, and the log does not have the changes.
   * Its process died, or there were too many files.
   */
  readonly isUnknown: boolean;
}

/** Maximum depth of sub-agents whose changes are read. */
const maxDepth = 8;

/**
 * Reads all file changes by the tools of a session, in order. It includes the changes of sub-agents.
 *
 * @example const changes = await readFileChanges(log, session);
 */
export async function readFileChanges(
  log: Log,
  session: string,
): Promise<readonly FileChangeOnLog[]> {
  return readChanges(log, sessionId(session), 0, new Set());
}

async function readChanges(
  log: Log,
  session: SessionId,
  depth: number,
  seen: Set<SessionId>,
): Promise<readonly FileChangeOnLog[]> {
  const changes: FileChangeOnLog[] = [];
  // If a session was forked while a sub-agent ran, it contains the start of that sub-agent twice.
  if (depth > maxDepth || seen.has(session)) return changes;
  seen.add(session);
  // The session of a sub-agent can be deleted before its caller's session.
  if ((await log.info(session)) === undefined) return changes;
  // Commands that started to change files, and those of them whose changes are complete.
  const pending = new Map<string, FileChangeOnLog>();
  const recorded = new Set<FileChangeOnLog>();
  // Copied calls whose sub-agent belongs to the original session, and the offsets of these calls.
  const copied = new Map<string, { readonly child: SessionId; readonly offset: number }>();
  for await (const { offset, fact } of readRecords(log, session)) {
    if (fact?.type === 'file_changed') {
      const { path, before, after, name: tool, scope, executionId } = fact;
      const place = `${executionId} ${path}`;
      const change = { offset, path, before, after, tool, isUnknown: scope === 'pending' };
      if (scope === 'pending') pending.set(place, change);
      const ended = scope === 'recorded' ? pending.get(place) : undefined;
      if (ended !== undefined) recorded.add(ended);
      if (scope !== 'recorded') changes.push(change);
    }
    const below = async (child: SessionId, at: number) => {
      for (const change of await readChanges(log, child, depth + 1, seen))
        changes.push({ ...change, offset: at });
    };
    if (fact?.type === 'tool_execution_started' && fact.child !== undefined) {
      const child = ownChild(fact, session);
      if (child === undefined) copied.set(fact.executionId, { child: fact.child, offset });
      else await below(child, offset);
    }
    // The sub-agent of a copied call can still change files for the original session. Its changes belong to the
    // copy only if the call was complete when it was copied.
    if (fact?.type === 'tool_execution_finished' && fact.outcome === 'completed') {
      const ended = copied.get(fact.executionId);
      if (ended !== undefined) await below(ended.child, ended.offset);
    }
  }
  return changes.filter((change) => !recorded.has(change));
}
