import { sessionId } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { TaskService } from '../contract/service.ts';
import type { TaskStreams } from '../contract/stream.ts';
import type { Task } from '../contract/task.ts';
import { ensureSession } from '../journal/session-lease.ts';
import type { TaskChanges } from '../stores/task-changes.ts';
import { Feeds } from '../stream/feed-registry.ts';
import { views } from '../stream/frames/views.ts';
import type { StreamLimits } from '../stream/stream-limits.ts';
import { streamTask, type TaskWatch } from '../stream/stream-task.ts';

interface TaskStreamsOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly service: TaskService & { readonly changes: Pick<TaskChanges, 'listen'> };
  readonly limits?: Partial<StreamLimits> | undefined;
}

/** Streams from the log, with what the task's row says beside it. */
export function createTaskStreams({
  log,
  clock,
  service,
  limits,
}: TaskStreamsOptions): TaskStreams {
  const feeds = new Feeds({ log, clock, limits, views });
  return {
    async serve({ taskId, view, from, response }) {
      const { watch, stop } = await watchTask(service, taskId);
      try {
        const session = sessionId(taskId);
        await ensureSession(log, session);
        await streamTask({ feeds, session, view, from, response, task: watch });
      } finally {
        stop();
      }
    },
    async close() {
      feeds.close();
    },
  };
}

/** Listens before it looks, so that no change falls in between. */
async function watchTask(
  { tasks, changes }: TaskStreamsOptions['service'],
  taskId: string,
): Promise<{ readonly watch: TaskWatch; readonly stop: () => void }> {
  let changed: Task | undefined;
  const stop = changes.listen(taskId, (task) => {
    changed = task;
  });
  try {
    const { agents: _, ...found } = await tasks.get({ id: taskId });
    const current = () => changed ?? found;
    const onChange: TaskWatch['onChange'] = (listener) => {
      let last = JSON.stringify(current());
      // What another server changed is looked for, and may be what was told before.
      return changes.listen(taskId, (task) => {
        const now = JSON.stringify(task);
        if (now !== last) listener(task);
        last = now;
      });
    };
    return { watch: { current, onChange }, stop };
  } catch (error) {
    stop();
    throw error;
  }
}
