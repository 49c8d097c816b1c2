import { isId, type LogRecord, ownChild, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { ServerError } from '../contract/server-error.ts';
import { type FoldCache, foldCacheFor, type KeptValue } from './fold-cache.ts';

/**
 * Maximum number of sub-agents of one session that can be found. If there are more, only the first sub-agents
 * are found.
 */
const maxChildren = 10_000;
/** Maximum number of sessions that one search reads. */
const maxSessions = 1000;

/** The links from the calls of a session to the sessions of sub-agents. */
interface ChildSessions extends KeptValue {
  /**
   * For each sub-agent, the session that started it. In a copy of a session, it can be the session of the
   * original.
   */
  readonly parents: ReadonlyMap<SessionId, SessionId>;
}

const childrenFor = foldCacheFor<ChildSessions>({
  empty: { through: 0, parents: new Map() },
  fold: (before, records) => {
    const found = records.flatMap(linkOf).filter(([child]) => !before.parents.has(child));
    if (found.length === 0) return before;
    return { ...before, parents: new Map([...before.parents, ...found].slice(0, maxChildren)) };
  },
});

function linkOf({ fact }: LogRecord): readonly (readonly [SessionId, SessionId])[] {
  if (fact?.type !== 'tool_execution_started') return [];
  const { child, parent } = fact;
  return child === undefined || parent === undefined ? [] : [[child, parent]];
}

/**
 * Returns the session of a sub-agent of a task, at any depth. Only the log of the task, and the logs of
 * its sub-agents, say which sessions belong to the task. A sub-agent belongs only to the session that started
 * it, so a copy of a task does not give access to the sub-agents of the original. Throws `not_found` for every
 * other session. The caller must check first that the client may read the task.
 */
export async function subAgentSession(log: Log, task: string, wanted: string): Promise<SessionId> {
  const missing = new ServerError(
    'not_found',
    `Cannot find session ${wanted} in task ${task}: no sub-agent of the task has it`,
    { task },
  );
  if (!isId(wanted)) throw missing;
  const target = sessionId(wanted);
  const seen = new Set<SessionId>([sessionId(task)]);
  // A set returns also the entries that are added while a loop reads it.
  for (const session of seen) {
    const children = await readChildren(childrenFor(log), session);
    if (children.has(target)) return target;
    for (const child of children) if (seen.size < maxSessions) seen.add(child);
  }
  throw missing;
}

/** Reads all children of a session. One read of the cache covers a limited number of records. */
async function readChildren(
  cache: FoldCache<ChildSessions>,
  session: SessionId,
): Promise<ReadonlySet<SessionId>> {
  let last = -1;
  for (;;) {
    const { state, isWhole } = await cache.read(session);
    if (isWhole || state.through <= last) return ownChildren(state, session);
    last = state.through;
  }
}

function ownChildren({ parents }: ChildSessions, session: SessionId): ReadonlySet<SessionId> {
  const own = [...parents].flatMap(([child, parent]) => ownChild({ child, parent }, session) ?? []);
  return new Set(own);
}
