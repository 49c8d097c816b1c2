import { sessionId } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { TaskService } from '../contract/service.ts';
import type { TaskStreams } from '../contract/stream.ts';
import type { Task } from '../contract/task.ts';
import { ensureSession } from '../journal/session-lease.ts';
import type { TaskChanges } from '../stores/task-changes.ts';
import { FeedRegistry } from '../stream/feed-registry.ts';
import { views } from '../stream/frames/views.ts';
import type { StreamLimits } from '../stream/stream-limits.ts';
import { streamTask, type WatchedTask } from '../stream/stream-task.ts';

interface TaskStreamsOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly service: TaskService & { readonly changes: Pick<TaskChanges, 'listen'> };
  readonly limits?: Partial<StreamLimits> | undefined;
}

/** Creates the task streams. They read the log and report changes of the task's row. */
export function createTaskStreams({
  log,
  clock,
  service,
  limits,
}: TaskStreamsOptions): TaskStreams {
  const feeds = new FeedRegistry({ log, clock, limits, views });
  return {
    async serve({ taskId, response, ...asked }) {
      const { watch, stop } = await watchTask(service, taskId);
      try {
        const session = sessionId(taskId);
        await ensureSession(log, session);
        await streamTask({ ...asked, feeds, session, response, task: watch });
      } finally {
        stop();
      }
    },
    async close() {
      feeds.close();
    },
  };
}

/**
 * Watches the row of a task. It subscribes before it reads the row, because it would otherwise miss a change
 * between the two steps.
 */
async function watchTask(
  { tasks, changes }: TaskStreamsOptions['service'],
  taskId: string,
): Promise<{ readonly watch: WatchedTask; readonly stop: () => void }> {
  let changed: Task | undefined;
  const stop = changes.listen(taskId, (task) => {
    changed = task;
  });
  try {
    const { agents: _, ...found } = await tasks.get({ id: taskId });
    const current = () => changed ?? found;
    const onChange: WatchedTask['onChange'] = (listener) => {
      let last = JSON.stringify(current());
      // The server polls for changes by different servers, so it may report the same row twice. A repeated
      // row is ignored.
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
