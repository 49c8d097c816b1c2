import type { RunResult } from '@millrace/agent';
import type { TaskStatus } from '../contract/task.ts';
import type { TaskRows } from '../tasks/task-rows.ts';
import { assertUsable } from '../tasks/task-status.ts';

/** What a task becomes by the end of its run, unless somebody said meanwhile what it is. */
export async function settleTask(
  tasks: TaskRows,
  taskId: string,
  { stop, error }: RunResult,
): Promise<void> {
  const become = async (status: TaskStatus, reason: string) => {
    await tasks.setStatus(taskId, (now) => (now === 'RUNNING' ? status : undefined), reason);
  };
  const { reason, cause } = stop;
  if (reason === 'error' && cause !== 'held')
    await become('FAILED', error?.message ?? 'The run ended as an error');
  if (reason === 'limit') await become('FAILED', `A limit was reached: ${cause ?? ''}`);
  if (reason !== 'aborted') return;
  const isCut = cause === 'interrupted';
  await become(
    'INTERRUPTED',
    isCut ? 'The server ended in the midst of it' : 'The run was stopped',
  );
}

/** What was stopped is taken up again. */
export function goesOn(now: TaskStatus): TaskStatus | undefined {
  return now === 'INTERRUPTED' ? 'RUNNING' : undefined;
}

/** Something is said to it. Throws where that is too late. */
export function resumed(taskId: string, now: TaskStatus, isQuiet: boolean): TaskStatus | undefined {
  assertUsable(taskId, now);
  return now === 'RUNNING' || isQuiet ? undefined : 'RUNNING';
}
