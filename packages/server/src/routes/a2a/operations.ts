import type { JsonObject } from '@millrace/core';
import type { Question } from '../openai/response-log.ts';
import { stopResponse } from '../openai/write-response.ts';
import { waitFor, waitForStop } from './follow-task.ts';
import { type FollowOptions, followTask, readView } from './followed-task.ts';
import { listTasks } from './list-tasks.ts';
import { type A2aContext, type A2aTask, findTask, openView, sendMessage } from './open-task.ts';
import { a2aError } from './protocol/a2a-error.ts';
import { countField, historyRange, readSendOptions, readSentMessage } from './protocol/messages.ts';
import { linkTask } from './protocol/task-parts.ts';
import { addPushConfig, pushOperations } from './push/push-operations.ts';

/** The result of an operation: a value, a value that needs a wait, or a stream of events. */
export type A2aResult =
  | {
      readonly kind: 'value';
      readonly value: JsonObject;
      /** True if the request changed nothing. */
      readonly isRefusable: boolean;
    }
  | {
      readonly kind: 'wait';
      readonly question: Question;
      wait(signal: AbortSignal): Promise<JsonObject>;
    }
  | {
      readonly kind: 'stream';
      readonly question: Question;
      /** True if the request changed nothing. Default: false. */
      readonly isRefusable?: boolean;
      events(signal: AbortSignal): AsyncIterable<JsonObject>;
    };

type Operation = (params: JsonObject, context: A2aContext) => Promise<A2aResult>;

/** The operations of A2A 1.0, by the names of their JSON-RPC methods. */
const operations: Readonly<Record<string, Operation>> = {
  async SendMessage(params, context) {
    const { historyLength, returnsAtOnce } = readSendOptions(params);
    const task = await send(params, context);
    const fields = { historyLength };
    if (returnsAtOnce) {
      const { view } = await context.inTurn(() => openView(task, context), 'wait');
      const sent = { task: linkTask(view.task(fields), context.base) };
      return { kind: 'value', value: sent, isRefusable: false };
    }
    const { question } = task;
    return {
      ...{ kind: 'wait', question },
      wait: async (signal) => ({ task: await waitFor(task, fields, context, signal) }),
    };
  },
  async SendStreamingMessage(params, context) {
    const { historyLength } = readSendOptions(params);
    const task = await send(params, context);
    return stream(task, { historyLength, stopsWhenAsked: true }, context);
  },
  async GetTask(params, context) {
    const historyLength = countField(params, 'historyLength', historyRange);
    // The message of a task can be long, so also the search for the task is part of the turn.
    const read = async () => openView(await findTask(params['id'], context), context);
    const { view } = await context.inTurn(read, 'refuse');
    return answer(linkTask(view.task({ historyLength }), context.base));
  },
  async ListTasks(params, context) {
    return answer(await listTasks(params, context));
  },
  async CancelTask(params, context) {
    const { task, view } = await context.inTurn(async () => {
      const found = await findTask(params['id'], context);
      return { task: found, ...(await openView(found, context)) };
    }, 'refuse');
    const { question } = task;
    if (view.isOver)
      throw a2aError('TASK_NOT_CANCELABLE', `Cannot cancel: the task has ended (${view.state})`);
    await stopResponse(question, context, { spansQuestions: true });
    return { kind: 'wait', question, wait: (signal) => waitForStop(task, context, signal) };
  },
  async SubscribeToTask(params, context) {
    const { task, isOver } = await context.inTurn(async () => {
      const found = await findTask(params['id'], context);
      return { task: found, isOver: (await readView(found, context)).isOver };
    }, 'refuse');
    if (isOver)
      throw a2aError('UNSUPPORTED_OPERATION', 'Cannot subscribe: the task has ended. Use GetTask');
    return { ...stream(task, { stopsWhenAsked: false }, context), isRefusable: true };
  },
  async GetExtendedAgentCard() {
    throw a2aError('UNSUPPORTED_OPERATION', 'This agent has no extended agent card');
  },
};

/** Returns an operation by its name. Returns undefined if A2A has no such operation. */
export function operationOf(name: string): Operation | undefined {
  if (Object.hasOwn(operations, name)) return operations[name];
  const push = Object.hasOwn(pushOperations, name) ? pushOperations[name] : undefined;
  return (
    push &&
    (async (params, context) => ({
      ...{ kind: 'value', value: await push(params, context), isRefusable: false },
    }))
  );
}

/** The names of all operations. */
export const operationNames: readonly string[] = [
  ...Object.keys(operations),
  ...Object.keys(pushOperations),
];

/** Sends a message, with the push configuration of the request. */
async function send(params: JsonObject, context: A2aContext): Promise<A2aTask> {
  const { pushConfig } = readSendOptions(params);
  const message = readSentMessage(params);
  const task = await context.inTurn(() => sendMessage(message, context), 'refuse');
  if (pushConfig !== undefined)
    await addPushConfig(task, pushConfig, context, 'TASK_STATE_SUBMITTED');
  return task;
}

/** Returns the result of an operation that changes nothing. */
function answer(value: JsonObject): A2aResult {
  return { kind: 'value', value, isRefusable: true };
}

function stream(task: A2aTask, options: FollowOptions, context: A2aContext) {
  const { question } = task;
  return {
    ...{ kind: 'stream' as const, question },
    events: (signal: AbortSignal) => followTask(task, options, context, signal),
  };
}
