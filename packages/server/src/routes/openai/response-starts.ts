import type { JsonObject } from '@millrace/core';
import { type Log, readBackward } from '@millrace/log';

/** Yields the offsets of the messages that start a run, from the newest to the oldest. */
export async function* messagesBackward(
  taskId: string,
  log: Log,
  through?: number,
): AsyncGenerator<number> {
  const range = through === undefined ? {} : { through };
  for await (const records of readBackward(log, taskId, range))
    for (const { fact, offset } of records.toReversed())
      if (fact?.type === 'command_queued' && isStart(fact.command)) yield offset;
}

/** Something that a response answers, on the log. */
export interface ResponseStart {
  readonly offset: number;
  /** `run`: a process started a run with a message of its own, and without a command. */
  readonly by: 'message' | 'answer' | 'run';
}

/** The types of the commands that answer a call. */
export const answerTypes = ['tool_output', 'approve', 'deny'];

/** Finds the newest message, answer or run of a session. Returns undefined if there is none. */
export async function newestStart(taskId: string, log: Log): Promise<ResponseStart | undefined> {
  // The records after a `run_started`, up to the first turn of that run.
  let [hasCommand, hasMessage] = [false, false];
  for await (const records of readBackward(log, taskId))
    for (const { fact, offset } of records.toReversed()) {
      if (fact?.type === 'command_queued') {
        if (isStart(fact.command)) return { offset, by: 'message' };
        if (answerTypes.includes(String(fact.command['type']))) return { offset, by: 'answer' };
      }
      if (fact?.type === 'run_started' && hasMessage && !hasCommand) return { offset, by: 'run' };
      if (fact?.type === 'turn_started' || fact?.type === 'run_started')
        [hasCommand, hasMessage] = [false, false];
      hasCommand ||= fact?.type === 'command_consumed';
      hasMessage ||= fact?.type === 'item_started' && fact.kind === 'user';
    }
  return undefined;
}

function isStart({ type, when }: JsonObject): boolean {
  return type === 'message' && when !== 'steer';
}
