import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunResult } from '@millrace/agent';
import {
  type Batch,
  Folder,
  type FoldState,
  type LogRecord,
  type RunId,
  sessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { TaskMessage, Update } from '../contract/message.ts';
import { ServerError } from '../contract/server-error.ts';
import type { Answer } from '../contract/service.ts';
import { RefusedRecords } from '../inspection/refused-records.ts';
import { withNext } from '../stream/frames/frame-chunk.ts';
import { messagesOf } from '../updates/task-messages.ts';
import { updatesOf } from '../updates/updates-view.ts';

/** The number of records that an answer converts in one turn of the event loop. */
const stepsPerTurn = 64;

interface AnswerSource {
  readonly log: Log;
  readonly taskId: string;
  /** The state of the session before the answer. */
  readonly before: FoldState;
  /** Returns true if the record is the first one of the answer. Throws if the message will get no answer. */
  readonly isStart: (record: LogRecord, previous: LogRecord | undefined) => boolean;
  readonly run?: RunId | undefined;
  /** The offset of the answer's last record. Undefined if the answer is not finished. */
  readonly through?: number | undefined;
  /**
   * This signal is aborted if the run failed and could not write its end to the log. The reason is an error.
   */
  readonly lost: AbortSignal;
}

/** Returns an answer that is read from the log. Every reader gets the stored records, even after the run. */
export function answerFromLog(source: AnswerSource): Answer {
  return {
    ...{ taskId: source.taskId, run: source.run },
    updates: () => updatesFrom(source),
    messages: () => messagesFrom(source),
  };
}

interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
  /** The record after this one, if both were read together. */
  readonly next: LogRecord | undefined;
}

async function* updatesFrom(source: AnswerSource): AsyncGenerator<Update> {
  const { log, taskId, before: start } = source;
  // A repeated request must not bring back an answer that was refused since then.
  const refused = await RefusedRecords.read(log, sessionId(taskId), start.through);
  for await (const { before, record, after, next } of stepsOf(source, refused)) {
    if (record.turn === 0) continue;
    for (const { update } of updatesOf(before, record, after, next)) yield update;
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
  const isOfAnswer = ({ id }: TaskMessage) => turns.has(turnOf(source.taskId, id));
  return messagesOf(state).filter(isOfAnswer);
}

/** Returns the number of the turn that contains a message. The message id contains this number. */
function turnOf(taskId: string, id: string | null): number {
  return Number(id?.slice(taskId.length + 1).split('.', 1)[0]);
}

/**
 * Yields the steps from the answer's first record to the end of its run, without the records in `refused`. If the
 * answer failed, it throws the error after the last step.
 */
async function* stepsOf(source: AnswerSource, refused?: RefusedRecords): AsyncGenerator<Step> {
  const { taskId, before, isStart, lost } = source;
  const folder = new Folder(before);
  let previous: LogRecord | undefined;
  let hasBegun = false;
  let count = 0;
  let error: ServerError | undefined;
  for await (const stored of batchesOf(source)) {
    const batch = refused?.without(stored) ?? stored;
    const steps: Omit<Step, 'next'>[] = [];
    folder.addBatch(batch, (was, record, after) => steps.push({ before: was, record, after }));
    for (const [step, next] of withNext(steps)) {
      // Other work of the process runs between the records of a large batch.
      if (++count % stepsPerTurn === 0) await nextTurn();
      hasBegun ||= isStart(step.record, previous);
      previous = step.record;
      if (!hasBegun) continue;
      yield { ...step, next: next?.record };
      const { fact } = step.record;
      if (fact?.type === 'error_reported') error = failedAnswer(taskId, fact.error);
      if (fact?.type !== 'run_finished') continue;
      const { reason, cause } = fact.stop;
      // A run can continue after an error. In this case the answer has not failed.
      if (error !== undefined && (reason === 'error' || reason === 'aborted')) throw error;
      // A client must not mistake an incomplete answer for a complete one, especially if it repeats its
      // request.
      if (cause === 'interrupted') throw interruptedAnswer(taskId);
      return;
    }
  }
  throw lost.aborted ? lost.reason : logClosed(taskId);
}

/** Yields the stored batches. If the answer is not finished, it also yields new batches as they arrive. */
async function* batchesOf(source: AnswerSource): AsyncGenerator<Batch> {
  const { log, taskId, before, through, lost } = source;
  const session = sessionId(taskId);
  if (through === undefined)
    return yield* log.follow(session, { from: before.through, signal: lost });
  for (let from = before.through; from < through; ) {
    const batch = await log.read(session, { from });
    yield batch;
    from = batch.through;
  }
  throw messageWithdrawn(taskId);
}

function failedAnswer(
  taskId: string,
  { code, message }: { readonly code: string; readonly message: string },
): ServerError {
  const place = { task: taskId };
  return new ServerError('agent_failed', message, place, { details: { reason: code } });
}

function interruptedAnswer(taskId: string): ServerError {
  const message = `Cannot continue the answer of task ${taskId}: it was interrupted, because its process crashed. The partial answer is stored. Send another message to continue`;
  return new ServerError(
    'agent_failed',
    message,
    { task: taskId },
    { details: { reason: 'interrupted' } },
  );
}

/** Returns the error for a message that was removed from the queue without an answer. */
export function messageWithdrawn(taskId: string): ServerError {
  const message = `Cannot answer this message in task ${taskId}: it was withdrawn, or its task was closed, before the agent received it. Send it with another key`;
  return new ServerError('bad_state', message, { task: taskId });
}

function logClosed(taskId: string): ServerError {
  const message = `Cannot continue the answer of task ${taskId}: the log was closed. Read the task's messages later`;
  return new ServerError('unavailable', message, { task: taskId });
}

/** Returns the error for a message that was still in the queue when the run ended. */
export function answerNotStarted(
  taskId: string,
  { stop, error }: Pick<RunResult, 'stop' | 'error'>,
) {
  const because = error === undefined ? stop.reason : `${stop.reason}: ${error.message}`;
  const message = `Cannot answer in task ${taskId} now: the previous run ended (${because}). The message stays in the queue`;
  return new ServerError(
    'bad_state',
    message,
    { task: taskId },
    { details: { stop: stop.reason } },
  );
}

/**
 * Returns the error for an answer that could not be stored because the storage is full. `why` is the error
 * message of the run. It describes which part was stored.
 */
export function answerNotStored(taskId: string, why: string): ServerError {
  const message = `Cannot continue the answer of task ${taskId}: ${why}`;
  return new ServerError('storage_full', message, { task: taskId });
}

/** Returns the error for an answer whose run failed and could not write its end to the log. */
export function answerLost(taskId: string, why: string): ServerError {
  const message = `Cannot continue the answer of task ${taskId}: its run failed (${why}). The partial answer is stored. Read the task's messages, or send another one`;
  return new ServerError(
    'agent_failed',
    message,
    { task: taskId },
    { details: { reason: 'lost' } },
  );
}

interface Waiter {
  /** The key of the command that contains the message. */
  readonly key: string;
  readonly lost: AbortController;
  /** The offset of the command. Undefined until the command is stored. */
  offset: number | undefined;
}

/**
 * The requests that wait for answers of agent loops. If a run ends normally, they read its end from the log.
 * This class only reports failures to them.
 */
export class AnswerWaiters {
  readonly #byTask = new Map<string, Set<Waiter>>();

  /** Adds a request. `offset` is the offset of its command, if the command is already stored. */
  add(taskId: string, key: string, offset?: number): Waiter {
    const waiters = this.#byTask.get(taskId) ?? new Set();
    const waiter = { key, lost: new AbortController(), offset };
    this.#byTask.set(taskId, waiters.add(waiter));
    return waiter;
  }

  forget(taskId: string, waiter: Waiter): void {
    const waiters = this.#byTask.get(taskId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#byTask.delete(taskId);
  }

  /**
   * Rejects each waiter for which `errorFor` returns an error. It checks only waiters whose commands have an
   * offset up to `through`. A later run handles a later command, so the end of an earlier run does not affect
   * it.
   */
  reject(taskId: string, through: number, errorFor: (key: string) => Error | undefined): void {
    for (const waiter of this.#storedBy(taskId, through)) {
      const error = errorFor(waiter.key);
      if (error !== undefined) this.#reject(taskId, waiter, error);
    }
  }

  /**
   * Rejects waiters like `reject`. Then it removes the remaining waiters whose commands have an offset up to
   * `through`. They read the end of their answer from the log.
   */
  settle(taskId: string, through: number, errorFor: (key: string) => Error | undefined): void {
    this.reject(taskId, through, errorFor);
    for (const waiter of this.#storedBy(taskId, through)) this.forget(taskId, waiter);
  }

  /** Rejects all waiters of a task. */
  rejectAll(taskId: string, error: Error): void {
    for (const waiter of [...(this.#byTask.get(taskId) ?? [])]) this.#reject(taskId, waiter, error);
  }

  /** Rejects the waiters of all tasks. */
  close(errorFor: (taskId: string) => Error): void {
    for (const taskId of [...this.#byTask.keys()]) this.rejectAll(taskId, errorFor(taskId));
  }

  #storedBy(taskId: string, through: number): readonly Waiter[] {
    const waiters = [...(this.#byTask.get(taskId) ?? [])];
    return waiters.filter(({ offset }) => offset !== undefined && offset <= through);
  }

  #reject(taskId: string, waiter: Waiter, error: Error): void {
    waiter.lost.abort(error);
    this.forget(taskId, waiter);
  }
}
