import { ServerError } from '../contract/server-error.ts';
import type { TaskChange } from '../contract/service.ts';
import type { TaskStatus } from '../contract/task.ts';

/** Nothing comes after these. */
const final: readonly TaskStatus[] = ['CANCELED', 'TERMINATED', 'DELETED'];
const open: readonly TaskStatus[] = ['RUNNING', 'INTERRUPTED'];

const becomes: Readonly<Record<TaskChange, TaskStatus>> = {
  complete: 'COMPLETED',
  fail: 'FAILED',
  cancel: 'CANCELED',
  interrupt: 'INTERRUPTED',
  terminate: 'TERMINATED',
  timeout: 'TIMED_OUT',
};

function isFinal(status: TaskStatus): boolean {
  return final.includes(status);
}

/** What it becomes by that. Throws `bad_state` where it is closed already. */
export function changedStatus(taskId: string, now: TaskStatus, change: TaskChange): TaskStatus {
  if (open.includes(now)) return becomes[change];
  const message = `Cannot ${change} task ${taskId}: it is ${now}, and only a task that is RUNNING or INTERRUPTED can be`;
  throw new ServerError('bad_state', message, { task: taskId }, { details: { status: now } });
}

/** Something new is said to it. Throws `bad_state` where that is too late. */
export function assertUsable(taskId: string, now: TaskStatus): void {
  if (!isFinal(now)) return;
  const message = `Cannot send anything to task ${taskId}: it is ${now}. Create another`;
  throw new ServerError('bad_state', message, { task: taskId }, { details: { status: now } });
}
