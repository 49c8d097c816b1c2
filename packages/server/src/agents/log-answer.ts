import { Folder, type FoldState, type LogRecord, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { ServerError } from '../http/server-error.ts';
import type { Answer } from '../routes/service.ts';
import { messagesOf } from '../updates/messages-of.ts';
import { updatesOf } from '../updates/updates-of.ts';
import type { TaskMessage } from '../wire/task-message.ts';
import type { Update } from '../wire/update.ts';

export interface AnswerSource {
  readonly log: Log;
  readonly taskId: string;
  /** The session before the answer. */
  readonly before: FoldState;
  /** Is this the answer's first record? */
  readonly begins: (record: LogRecord) => boolean;
  /** Aborts, with the reason as an error, when nobody answers any more and the log does not say so. */
  readonly lost: AbortSignal;
}

/** An answer, read from the log: whoever reads it, however often, has what was kept and nothing else. */
export function logAnswer(source: AnswerSource): Answer {
  return {
    taskId: source.taskId,
    updates: () => updatesFrom(source),
    messages: () => messagesFrom(source),
  };
}

interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

async function* updatesFrom(source: AnswerSource): AsyncGenerator<Update> {
  for await (const { before, record, after } of stepsOf(source)) {
    if (record.turn === 0) continue;
    for (const { update } of updatesOf(before, record, after)) yield update;
  }
}

async function messagesFrom(source: AnswerSource): Promise<readonly TaskMessage[]> {
  const turns = new Set<number>();
  let state = source.before;
  for await (const { record, after } of stepsOf(source)) {
    turns.add(record.turn);
    state = after;
  }
  turns.delete(0);
  const isIts = ({ id }: TaskMessage) => turns.has(turnOf(source.taskId, id));
  return messagesOf(state).filter(isIts);
}

/** The turn is in a message's id. */
function turnOf(taskId: string, id: string | null): number {
  return Number(id?.slice(taskId.length + 1).split('.', 1)[0]);
}

/** From the answer's first record to the end of its run. Throws what it failed with, after that. */
async function* stepsOf({ log, taskId, before, begins, lost }: AnswerSource): AsyncGenerator<Step> {
  const folder = new Folder(before);
  const from = before.through;
  let hasBegun = false;
  let error: ServerError | undefined;
  for await (const batch of log.follow(sessionId(taskId), { from, signal: lost })) {
    const steps: Step[] = [];
    folder.addBatch(batch, (was, record, after) => steps.push({ before: was, record, after }));
    for (const step of steps) {
      hasBegun ||= begins(step.record);
      if (!hasBegun) continue;
      yield step;
      const { fact } = step.record;
      if (fact?.type === 'error_reported') error = failedAnswer(taskId, fact.error);
      if (fact?.type !== 'run_finished') continue;
      const { reason } = fact.stop;
      // What was mended on the way is no failure.
      if (error !== undefined && (reason === 'error' || reason === 'aborted')) throw error;
      return;
    }
  }
  throw lost.aborted ? lost.reason : noEnd(taskId);
}

function failedAnswer(
  taskId: string,
  { code, message }: { readonly code: string; readonly message: string },
): ServerError {
  const place = { task: taskId };
  return new ServerError('agent_failed', message, place, { details: { reason: code } });
}

function noEnd(taskId: string): ServerError {
  const message = `Cannot go on with the answer of task ${taskId}: the log was closed. Read the task's messages later`;
  return new ServerError('unavailable', message, { task: taskId });
}
