import { type FileVersion, type LogRecord, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/** A change of a file that a tool of a session made. */
export interface FileChangeOnLog {
  /**
   * The place of the change in the session that was read. A change by a sub-agent has the place of the call
   * that runs the sub-agent.
   */
  readonly offset: number;
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** Undefined if the file did not exist. */
  readonly before: FileVersion | undefined;
  /** Undefined if the file was deleted. */
  readonly after: FileVersion | undefined;
  /** The name of the tool. */
  readonly tool: string;
}

/** Maximum depth of sub-agents whose changes are read. */
const maxDepth = 8;

/**
 * Reads the changes of files that the tools of a session made, in order. The changes of its sub-agents are
 * included.
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
  // A session that was forked while a sub-agent ran contains the start of that sub-agent a second time.
  if (depth > maxDepth || seen.has(session)) return changes;
  seen.add(session);
  for await (const { offset, fact } of recordsOf(log, session)) {
    if (fact?.type === 'file_changed') {
      const { path, before, after, name: tool } = fact;
      changes.push({ offset, path, before, after, tool });
    }
    if (fact?.type === 'tool_execution_started' && fact.child !== undefined)
      for (const change of await readChanges(log, fact.child, depth + 1, seen))
        changes.push({ ...change, offset });
  }
  return changes;
}

async function* recordsOf(log: Log, session: SessionId): AsyncGenerator<LogRecord> {
  if ((await log.info(session)) === undefined) return;
  for (let from = 0; ; ) {
    const { records, through } = await log.read(session, { from });
    yield* records;
    if (through === from) return;
    from = through;
  }
}
