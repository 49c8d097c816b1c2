import { sessionId } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { TaskSummary } from '../contract/task.ts';
import { digestCacheFor } from './task-digest.ts';

/**
 * Limits for one list of tasks. `awaits_approval` is missing for tasks whose log was not read within these
 * limits.
 */
const maxReads = 100;
const maxReadMs = 500;
const concurrentReads = 4;

interface WorkSources {
  readonly log: Log;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Adds two fields to each task: whether an agent works on it, and whether it waits for an approval. Both come
 * from the logs, so they include agents in different processes.
 */
export async function withWorkStatus(
  tasks: readonly TaskSummary[],
  sources: WorkSources,
): Promise<readonly TaskSummary[]> {
  const readHasWork = async ({ id }: TaskSummary) =>
    (await sources.log.info(sessionId(id)))?.hasWork ?? false;
  const hasWork = await Promise.all(tasks.map(readHasWork));
  const ids = tasks.filter((_, index) => hasWork[index]).map(({ id }) => id);
  const awaiting = await readAwaitingApproval(ids.slice(0, maxReads), sources);
  return tasks.map((task, index) => {
    const is_at_work = hasWork[index] ?? false;
    // A task that waits for an approval is in the middle of a turn. A task without open work therefore waits
    // for no approval.
    return { ...task, is_at_work, awaits_approval: is_at_work ? awaiting.get(task.id) : false };
  });
}

/** Returns for each task whether it has a pending approval. It omits tasks whose log could not be read. */
async function readAwaitingApproval(
  ids: string[],
  { log, clock }: WorkSources,
): Promise<ReadonlyMap<string, boolean>> {
  const digests = digestCacheFor(log);
  const awaiting = new Map<string, boolean>();
  const deadline = clock.now() + maxReadMs;
  const readNext = async () => {
    for (let id = ids.shift(); id !== undefined && clock.now() < deadline; id = ids.shift()) {
      // Ignores an error of one task. The other tasks stay available.
      const digest = await digests.read(sessionId(id)).catch(() => undefined);
      if (digest?.isWhole) awaiting.set(id, digest.state.pendingApprovals.size > 0);
    }
  };
  await Promise.all(Array.from({ length: concurrentReads }, readNext));
  return awaiting;
}
