import type { RunResult } from '@millrace/agent';
import { ServerError } from '../contract/server-error.ts';

/** Of a message that the run did not get to. */
export function unanswered(taskId: string, { stop, error }: Pick<RunResult, 'stop' | 'error'>) {
  const because = error === undefined ? stop.reason : `${stop.reason}: ${error.message}`;
  const message = `Cannot answer in task ${taskId} now: the run before it ended (${because}). The message waits in the queue`;
  return new ServerError(
    'bad_state',
    message,
    { task: taskId },
    { details: { stop: stop.reason } },
  );
}

/** Of one whose run died in the middle, and could not say so on the log. */
export function lostAnswer(taskId: string, why: string): ServerError {
  const message = `Cannot go on with the answer of task ${taskId}: its run is lost (${why}). What it said is kept; read the task's messages, or send another one`;
  return new ServerError(
    'agent_failed',
    message,
    { task: taskId },
    { details: { reason: 'lost' } },
  );
}
