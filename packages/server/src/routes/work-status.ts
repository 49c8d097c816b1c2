import { sessionId } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { TaskSummary } from '../contract/task.ts';
import { digestsOf } from '../inspection/task-digest.ts';

/** So many logs are looked into for one list, and for so long: what is not known then is not said. */
const maxReads = 100;
const maxReadMs = 500;
const concurrentReads = 4;

interface WorkSources {
  readonly log: Log;
  readonly clock: Pick<Clock, 'now'>;
}

/** Tasks with what goes on in them: as their logs say it, and so whichever process works on them. */
export async function withWorkStatus(
  tasks: readonly TaskSummary[],
  sources: WorkSources,
): Promise<readonly TaskSummary[]> {
  const isAtWork = async ({ id }: TaskSummary) =>
    (await sources.log.info(sessionId(id)))?.hasWork ?? false;
  const working = await Promise.all(tasks.map(isAtWork));
  const ids = tasks.filter((_, place) => working[place]).map(({ id }) => id);
  const asking = await readAwaitingApproval(ids.slice(0, maxReads), sources);
  return tasks.map((task, place) => {
    const is_at_work = working[place] ?? false;
    // Whoever asks is in the midst of a turn, and that is work.
    return { ...task, is_at_work, awaits_approval: is_at_work ? asking.get(task.id) : false };
  });
}

/** Which of them have a call that waits for somebody's word; without those of which it is not known. */
async function readAwaitingApproval(
  ids: string[],
  { log, clock }: WorkSources,
): Promise<ReadonlyMap<string, boolean>> {
  const digests = digestsOf(log);
  const asking = new Map<string, boolean>();
  const until = clock.now() + maxReadMs;
  const lookAtSome = async () => {
    for (let id = ids.shift(); id !== undefined && clock.now() < until; id = ids.shift()) {
      // One that was deleted meanwhile or cannot be read keeps nobody from the others.
      const digest = await digests.of(sessionId(id)).catch(() => undefined);
      if (digest?.isWhole) asking.set(id, digest.state.asked.size > 0);
    }
  };
  await Promise.all(Array.from({ length: concurrentReads }, lookAtSome));
  return asking;
}
