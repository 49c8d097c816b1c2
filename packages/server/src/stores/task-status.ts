import type { RunResult } from '@millrace/agent';
import { ServerError } from '../contract/server-error.ts';
import type { TaskChange } from '../contract/service.ts';
import type { TaskStatus } from '../contract/task.ts';
import { isClosed, type TaskStore } from './task-store.ts';

const openStatuses: readonly TaskStatus[] = ['RUNNING', 'INTERRUPTED'];

const statusAfter: Readonly<Record<TaskChange, TaskStatus>> = {
  complete: 'COMPLETED',
  fail: 'FAILED',
  cancel: 'CANCELED',
  interrupt: 'INTERRUPTED',
  terminate: 'TERMINATED',
  timeout: 'TIMED_OUT',
};

/** Returns the status after a change. Throws `bad_state` if the task is already closed. */
export function nextStatus(taskId: string, now: TaskStatus, change: TaskChange): TaskStatus {
  if (openStatuses.includes(now)) return statusAfter[change];
  const message = `Cannot ${change} task ${taskId}: it is ${now}. Only a RUNNING or INTERRUPTED task allows this`;
  throw new ServerError('bad_state', message, { task: taskId }, { details: { status: now } });
}

/** Throws `bad_state` if the task accepts no more input. */
export function assertUsable(taskId: string, now: TaskStatus): void {
  if (!isClosed(now)) return;
  const message = `Cannot send anything to task ${taskId}: it is ${now}. Create another task`;
  throw new ServerError('bad_state', message, { task: taskId }, { details: { status: now } });
}

/**
 * Returns whether a different driver controls the session. That driver held the lease when the run started
 * (`held`), or took it over later (`fenced`), and it sets the status of the task.
 */
export function isDrivenElsewhere({ stop: { reason, cause } }: Pick<RunResult, 'stop'>): boolean {
  return reason === 'error' && (cause === 'held' || cause === 'fenced');
}

/**
 * Returns whether the end of the run is missing on the log, because the storage failed. A server resumes the
 * run as soon as the storage works.
 */
function isEndUnstored({ stop: { reason, cause } }: Pick<RunResult, 'stop'>): boolean {
  return reason === 'error' && (cause === 'storage' || cause === 'storage_full');
}

/** The causes of runs that a further try cannot start, because the program must change its agents first. */
const causesOfWrongAgents: ReadonlySet<string> = new Set([
  'name_taken',
  'unknown_agent',
  'bad_option',
]);

/** Returns whether the run failed because the agents of the program are wrong. */
export function hasWrongAgents({ stop: { reason, cause } }: Pick<RunResult, 'stop'>): boolean {
  return reason === 'error' && causesOfWrongAgents.has(cause ?? '');
}

/**
 * Sets the status of a task after its run. It has no effect if a request changed the status during the run,
 * or if a later run has claimed the task. `epoch` is the epoch of the run. It is undefined if the run never
 * had the lease.
 */
export async function applyRunResult(
  tasks: TaskStore,
  taskId: string,
  { stop, error }: RunResult,
  epoch: number | undefined,
): Promise<void> {
  const change = async (status: TaskStatus, reason: string) => {
    const next = (now: TaskStatus) => (now === 'RUNNING' ? status : undefined);
    if (epoch === undefined) await tasks.setStatusWithoutLease(taskId, next, reason);
    else await tasks.setStatus(taskId, next, reason, epoch);
  };
  if (isDrivenElsewhere({ stop })) return;
  if (epoch !== undefined && isEndUnstored({ stop })) return;
  const { reason, cause } = stop;
  if (reason === 'error') await change('FAILED', error?.message ?? 'The run ended with an error');
  if (reason === 'limit') await change('FAILED', `The run reached a limit: ${cause ?? ''}`);
  if (reason !== 'aborted') return;
  const isInterrupted = cause === 'interrupted';
  await change(
    'INTERRUPTED',
    isInterrupted ? 'The server stopped during the run' : 'The run was stopped',
  );
}

/**
 * Returns FAILED if the task is still RUNNING. Otherwise it returns undefined, because a request has already
 * changed the status.
 */
export function failedIfRunning(now: TaskStatus): TaskStatus | undefined {
  return now === 'RUNNING' ? 'FAILED' : undefined;
}

/** Returns RUNNING if the task is INTERRUPTED. Otherwise it returns undefined. */
export function resumeIfInterrupted(now: TaskStatus): TaskStatus | undefined {
  return now === 'INTERRUPTED' ? 'RUNNING' : undefined;
}

/** Returns the status of a task after it received a command. Throws if the task accepts no more input. */
export function statusAfterCommand(
  taskId: string,
  now: TaskStatus,
  isSilent: boolean,
): TaskStatus | undefined {
  assertUsable(taskId, now);
  return now === 'RUNNING' || isSilent ? undefined : 'RUNNING';
}
