import type { JsonObject } from '@millrace/core';
import type { Question } from '../openai/response-log.ts';
import { stopResponse } from '../openai/write-response.ts';
import { listTasks } from './list-tasks.ts';
import {
  type A2aContext,
  type A2aTask,
  findTask,
  noAnswer,
  openView,
  sendMessage,
} from './open-task.ts';
import { a2aError, taskNotFound } from './protocol/a2a-error.ts';
import { countField, historyRange, readSendOptions, readSentMessage } from './protocol/messages.ts';
import type { TaskFields } from './task-view.ts';

/** The result of an operation: a value, a value that needs a wait, or a stream of events. */
export type A2aResult =
  | { readonly kind: 'value'; readonly value: JsonObject }
  | {
      readonly kind: 'wait';
      readonly question: Question;
      wait(signal: AbortSignal): Promise<JsonObject>;
    }
  | {
      readonly kind: 'stream';
      readonly question: Question;
      events(signal: AbortSignal): AsyncIterable<JsonObject>;
    };

type Operation = (params: JsonObject, context: A2aContext) => Promise<A2aResult>;

/** The operations of A2A 1.0, by the names of their JSON-RPC methods. */
export const operations: Readonly<Record<string, Operation>> = {
  async SendMessage(params, context) {
    const { historyLength, returnsAtOnce } = readSendOptions(params);
    const task = await sendMessage(readSentMessage(params), context);
    const fields = { historyLength };
    if (returnsAtOnce) {
      const { view } = await openView(task, context);
      return value({ task: view.task(fields) });
    }
    const { question } = task;
    return {
      ...{ kind: 'wait', question },
      wait: async (signal) => ({ task: await waitFor(task, fields, context, signal) }),
    };
  },
  async SendStreamingMessage(params, context) {
    const { historyLength } = readSendOptions(params);
    const task = await sendMessage(readSentMessage(params), context);
    return stream(task, { historyLength, stopsWhenAsked: true }, context);
  },
  async GetTask(params, context) {
    const historyLength = countField(params, 'historyLength', historyRange);
    const { view } = await openView(await findTask(params['id'], context), context);
    return value(view.task({ historyLength }));
  },
  async ListTasks(params, context) {
    return value(await listTasks(params, context));
  },
  async CancelTask(params, context) {
    const task = await findTask(params['id'], context);
    const { question } = task;
    const { view } = await openView(task, context);
    if (view.isOver)
      throw a2aError('TASK_NOT_CANCELABLE', `Cannot cancel: the task has ended (${view.state})`);
    await stopResponse(question, context, { spansQuestions: true });
    return { kind: 'wait', question, wait: (signal) => waitForStop(task, context, signal) };
  },
  async SubscribeToTask(params, context) {
    const task = await findTask(params['id'], context);
    const { view } = await openView(task, context);
    if (view.isOver)
      throw a2aError('UNSUPPORTED_OPERATION', 'Cannot subscribe: the task has ended. Use GetTask');
    return stream(task, { stopsWhenAsked: false }, context);
  },
  async GetExtendedAgentCard() {
    throw a2aError('UNSUPPORTED_OPERATION', 'This agent has no extended agent card');
  },
  CreateTaskPushNotificationConfig: noPush,
  GetTaskPushNotificationConfig: noPush,
  ListTaskPushNotificationConfigs: noPush,
  DeleteTaskPushNotificationConfig: noPush,
};

async function noPush(): Promise<A2aResult> {
  throw a2aError(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    'This server sends no push notifications. Use SubscribeToTask',
  );
}

function value(json: JsonObject): A2aResult {
  return { kind: 'value', value: json };
}

interface FollowOptions extends TaskFields {
  /** True if the stream ends when the task waits for an answer. */
  readonly stopsWhenAsked: boolean;
}

function stream(task: A2aTask, options: FollowOptions, context: A2aContext): A2aResult {
  const { question } = task;
  return {
    ...{ kind: 'stream', question },
    events: (signal) => followTask(task, options, context, signal),
  };
}

/** Yields a task as it is now, and then its events up to its end. */
async function* followTask(
  task: A2aTask,
  { stopsWhenAsked, ...fields }: FollowOptions,
  context: A2aContext,
  signal: AbortSignal,
): AsyncGenerator<JsonObject> {
  const { view, response } = await openView(task, context);
  yield { task: view.task(fields) };
  const isDone = () => view.isOver || (stopsWhenAsked && view.waiting.length > 0);
  if (response === undefined || isDone()) return;
  try {
    for await (const steps of response.follow(signal)) {
      for (const step of steps) yield* view.add(step);
      if (isDone()) return;
    }
  } catch (error) {
    yield view.fail(noAnswer(error));
  }
}

/** Waits until a task has ended or waits for an answer, and returns it. */
async function waitFor(
  task: A2aTask,
  fields: TaskFields,
  context: A2aContext,
  signal: AbortSignal,
): Promise<JsonObject> {
  const options = { ...fields, historyLength: 0, stopsWhenAsked: true };
  for await (const _ of followTask(task, options, context, signal));
  if (!(await context.log.info(task.place.sessionId))) throw taskNotFound();
  const { view } = await openView(task, context);
  return view.task(fields);
}

/** Maximum time to wait for the end of a cancelled task. A tool can need longer. */
const cancelWaitMs = 10_000;

async function waitForStop(
  task: A2aTask,
  context: A2aContext,
  signal: AbortSignal,
): Promise<JsonObject> {
  const late = new AbortController();
  const stop = context.clock.after(cancelWaitMs, () => late.abort(), { isIdle: true });
  try {
    const either = AbortSignal.any([signal, late.signal]);
    const options = { historyLength: 0, stopsWhenAsked: false };
    for await (const _ of followTask(task, options, context, either));
  } finally {
    stop();
  }
  return (await openView(task, context)).view.task();
}
