import { setImmediate as nextTurn } from 'node:timers/promises';
import { isCut, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { commandKey } from '../../agents/loops/loop-commands.ts';
import type { Command } from '../../contract/request-bodies.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { Ref } from '../../contract/service.ts';
import type { AgentInfo, TaskResponse } from '../../contract/task.ts';
import { type RouteContext, requestMetadata } from '../../http/route.ts';
import { ensureSession } from '../../journal/session-lease.ts';
import { type ChatState, chatNear, emptyChat, foldChat, readChatNear } from '../chat/chat-state.ts';
import { parseTaskId, taskIdOf } from '../mcp/protocol/run-ref.ts';
import { openStored, type Question, ResponseLog, readQuestion } from '../openai/response-log.ts';
import type { ResponseRef } from '../openai/response-starts.ts';
import { answerQuestions } from './answers.ts';
import type { TaskPlace } from './contract.ts';
import { a2aError, invalidParams, taskNotFound } from './protocol/a2a-error.ts';
import { itemOf, type SentMessage } from './protocol/messages.ts';
import { TaskView } from './task-view.ts';

/** A request to the A2A endpoint of an agent. */
export interface A2aContext extends RouteContext {
  readonly agent: AgentInfo;
  /** The URL of the server, without a slash at its end. */
  readonly base: string;
}

/** A run as a task of A2A. */
export interface A2aTask {
  readonly question: Question;
  readonly place: TaskPlace;
}

/** Finds a task by its id. Throws if the caller or the agent has no such task. */
export async function findTask(id: unknown, context: A2aContext): Promise<A2aTask> {
  const ref = parseTaskId(id);
  const session = ref && (await findSession({ id: ref.taskId }, context));
  if (ref === undefined || session === undefined) throw taskNotFound();
  return readTask(ref, session, context);
}

/** Reads the message of a run. Throws if the session has no message at this offset. */
export async function readTask(
  ref: ResponseRef,
  session: TaskResponse,
  { log, base }: Pick<A2aContext, 'log' | 'base'>,
): Promise<A2aTask> {
  const question = await readQuestion(ref, log).catch((error: unknown) => {
    throw error instanceof ServerError && error.code === 'not_found' ? taskNotFound() : error;
  });
  if (!question.isMessage) throw taskNotFound();
  const place = {
    ...{ sessionId: ref.taskId, taskId: taskIdOf(ref), base },
    contextId: session.name ?? session.id,
  };
  return { question, place };
}

/** Finds a session of the agent. Returns undefined if the caller has no such session. */
async function findSession(
  ref: Ref,
  { service, agent, log }: A2aContext,
): Promise<TaskResponse | undefined> {
  const task = await service.tasks.get(ref).catch((error: unknown) => {
    if (error instanceof ServerError && error.code === 'not_found') return undefined;
    throw error;
  });
  if (!task?.agents?.some(({ id }) => id === agent.id)) return undefined;
  await ensureSession(log, sessionId(task.id));
  return task;
}

/** Finds the session of a context. The id of a context is the name or the id of the session. */
export async function findContext(
  contextId: string,
  context: A2aContext,
): Promise<TaskResponse | undefined> {
  return (
    (await findSession({ id: contextId }, context)) ??
    (await findSession({ name: contextId }, context))
  );
}

/**
 * Sends a message to its session, as commands on the log.
 *
 * - A message with a task answers the questions of this task, or joins its run.
 * - A message with only a context starts a task in the session of this context.
 * - Every other message starts a session.
 */
export async function sendMessage(message: SentMessage, context: A2aContext): Promise<A2aTask> {
  const { taskId, contextId } = message;
  if (taskId !== undefined) return continueTask(taskId, message, context);
  const session = contextId === undefined ? undefined : await findContext(contextId, context);
  if (session !== undefined) await assertNotWaiting(session.id, context);
  const { service, agent } = context;
  const sent = contextId === undefined ? requestMetadata(context) : { trace: context.trace };
  const body = contextId === undefined ? {} : { name: contextId };
  const { id } = session ?? (await service.tasks.create(agent.id, body, sent));
  if (session === undefined) await ensureSession(context.log, sessionId(id));
  const offset = await submit(id, 'message', message, context);
  const found = session ?? (await service.tasks.get({ id }));
  return readTask({ taskId: id, offset }, found, context);
}

/** Refuses a message while the session waits for an answer. The agent would not receive the message. */
async function assertNotWaiting(session: string, { log }: RouteContext): Promise<void> {
  const { fold } = await readChatNear(log, session);
  if (fold.asked.length + fold.awaited.length === 0) return;
  throw a2aError(
    'UNSUPPORTED_OPERATION',
    'Cannot start a task in this context: a task waits for an answer. Send the answer with its taskId, or cancel the task',
  );
}

async function continueTask(
  id: string,
  message: SentMessage,
  context: A2aContext,
): Promise<A2aTask> {
  const task = await findTask(id, context);
  const { question, place } = task;
  const { contextId } = message;
  if (contextId !== undefined && ![place.contextId, place.sessionId].includes(contextId))
    throw invalidParams('Cannot send: the task belongs to another context');
  const key = keyOf('steer', message);
  const isRepeat = async () =>
    (await context.log.findCommand(place.sessionId, commandKey(key))) !== undefined;
  // A repeated message has no further effect. It must not answer a question that came after it.
  if (await isRepeat()) return task;
  const { view } = await openView(task, context);
  if (view.isOver)
    throw a2aError(
      'UNSUPPORTED_OPERATION',
      `Cannot send to a task that has ended. Send the message with the contextId ${place.contextId} and without a taskId`,
    );
  const { waiting, isOnlyQuestion } = view;
  if (waiting.length === 0) {
    await submit(question.taskId, 'steer', message, context);
    return task;
  }
  const answer = { message, waiting, isOnlyQuestion, key };
  await answerQuestions(place.sessionId, answer, context).catch(async (error: unknown) => {
    // A concurrent request with the same message may have been first.
    if (!(await isRepeat())) throw error;
  });
  return task;
}

/** Returns the idempotency key of a message. A message to a task has one key, whether it answers or joins. */
function keyOf(type: 'message' | 'steer', { id, hash }: SentMessage): string {
  return `a2a:${type}:${id}:${hash}`.slice(0, 256);
}

async function submit(
  session: string,
  type: 'message' | 'steer',
  message: SentMessage,
  { service, trace }: RouteContext,
): Promise<number> {
  const content = { type: 'text', author: 'user', content: '' } as never;
  const command: Command = { type, content };
  const sent = { key: keyOf(type, message), trace, extras: { items: [itemOf(message)] } };
  const { offset } = await service.tasks.submit(session, command, sent);
  return offset;
}

/** A task that is being read. */
export interface OpenView {
  readonly view: TaskView;
  readonly response: ResponseLog | undefined;
}

/** Reads a task from the log, as it is now. */
export async function openView(
  { question, place }: A2aTask,
  { log }: Pick<RouteContext, 'log'>,
): Promise<OpenView> {
  const view = new TaskView(question, place);
  try {
    const { response, steps } = await openStored(question, log, { spansQuestions: true });
    for (const step of steps) view.add(step);
    return { view, response };
  } catch (error) {
    view.fail(noAnswer(error));
    return { view, response: undefined };
  }
}

/**
 * Reads several tasks of one session. It reads the session once, from the oldest of the tasks up to the end of
 * the newest one, with pauses for other requests.
 */
export async function openViews(
  tasks: readonly A2aTask[],
  { log }: Pick<RouteContext, 'log'>,
): Promise<readonly TaskView[]> {
  const [oldest] = tasks.toSorted((a, b) => a.question.offset - b.question.offset);
  if (oldest === undefined) return [];
  const { taskId, offset } = oldest.question;
  const near = await chatNear(log, taskId, offset - 1);
  try {
    return await readViews(tasks, near, log);
  } catch (error) {
    // A cut state is too short if a record changes an earlier item.
    if (!isCut(near.fold.items)) throw error;
    return readViews(tasks, emptyChat(taskId), log);
  }
}

async function readViews(
  tasks: readonly A2aTask[],
  from: ChatState,
  log: Log,
): Promise<readonly TaskView[]> {
  const open = tasks.map(({ question, place }) => ({
    view: new TaskView(question, place),
    response: ResponseLog.from(question, log, from),
  }));
  let state = from;
  for (let isMore = true; isMore; ) {
    const page = await log.read(state.fold.session, { from: state.through });
    isMore = page.through > state.through;
    const { state: next, steps } = foldChat(state, page);
    for (const { view, response } of open) {
      try {
        if (!view.isOver) for (const step of response.addSteps(steps)) view.add(step);
      } catch (error) {
        view.fail(noAnswer(error));
      }
    }
    state = next;
    isMore &&= open.some(({ view }) => !view.isOver);
    await nextTurn();
  }
  return open.map(({ view }) => view);
}

/** Returns why a message gets no answer. Throws all other errors. */
export function noAnswer(error: unknown): string {
  if (error instanceof ServerError && error.code === 'bad_state') return error.message;
  throw error;
}
