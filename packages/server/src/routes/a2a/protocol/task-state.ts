import type { RunMoment } from '../../mcp/run-view.ts';
import type { ResponseEnd } from '../../openai/response-log.ts';

/** The states of a task that the server uses. */
export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'
  | 'TASK_STATE_REJECTED';

/** Returns the state of a task that has not ended. */
export function openState({ waiting }: Pick<RunMoment, 'waiting'>): TaskState {
  return waiting.length > 0 ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_WORKING';
}

/** Returns the state of a task that has ended. */
export function endState({ stop }: ResponseEnd): TaskState {
  switch (stop.reason) {
    case 'aborted':
      return stop.cause === 'interrupted' ? 'TASK_STATE_FAILED' : 'TASK_STATE_CANCELED';
    case 'error':
    case 'limit':
      return 'TASK_STATE_FAILED';
    case 'blocked':
      return 'TASK_STATE_REJECTED';
    default:
      return 'TASK_STATE_COMPLETED';
  }
}

/** True if a task with this state has ended. */
export function isTerminal(state: string): boolean {
  return /_(?:COMPLETED|FAILED|CANCELED|REJECTED)$/.test(state);
}
