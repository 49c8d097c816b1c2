import { type FoldState, type JsonObject, parseJson, sessionId } from '@millrace/core';
import { snapshot } from '@millrace/log';
import type { Command } from '../../contract/request-bodies.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { AgentInfo, TaskResponse } from '../../contract/task.ts';
import type { RouteContext } from '../../http/route.ts';
import { ensureSession } from '../../journal/session-lease.ts';
import { type NewItem, refused } from '../openai/input-items.ts';
import { isOffered } from '../openai/open-response.ts';
import { type Question, readQuestion } from '../openai/response-log.ts';
import { newestStart, type ResponseRef } from '../openai/response-starts.ts';
import { type InputItems, idsOf, isConversation, itemsOf, outputOf } from './input-items.ts';
import { formFields } from './run-end.ts';
import type { InputMessage, RunRequest } from './run-input.ts';
import { messagesOf, type ThreadMessage } from './thread-messages.ts';
import { storeThreadState } from './thread-state.ts';

/** A run that a client follows. */
export interface OpenedRun {
  readonly request: RunRequest;
  readonly taskId: string;
  readonly agent: AgentInfo;
  readonly question: Question;
  /** True if the run existed before the request. The client may already have a part of it. */
  readonly isRepeat: boolean;
  /** True if the client has exactly the messages that the session had before the run. */
  readonly isInSync: boolean;
  readonly warnings: readonly string[];
}

/** A thread is a task. Its id is the name of the task, or the id of the task. */
interface Thread {
  readonly taskId: string;
  readonly agent: AgentInfo;
  /** The items of all messages of the request, if the request creates the thread. */
  readonly first?: InputItems;
}

/**
 * Sends the input of a request to its session, as commands on the log. A run is the answer to the last command.
 *
 * - A run id that the session already has gives the same run again.
 * - A request without new input follows the newest run.
 */
export async function openRun(
  agentName: string,
  request: RunRequest,
  context: RouteContext,
): Promise<OpenedRun> {
  const thread = await openThread(agentName, request, context);
  const { taskId, agent } = thread;
  const state = await snapshot(context.log, taskId);
  const known = messagesOf(state);
  const knownIds = new Set(known.map(({ id }) => id));
  const { messages } = request;
  const isKnown = ({ id }: InputMessage) => knownIds.has(id);
  const fresh = messages.slice(messages.findLastIndex(isKnown) + 1).filter(isConversation);
  const input = readFresh(fresh, state, thread, request);
  const found = await context.log.findCommand(taskId, `command:${keyOf(request)}`);
  const sent =
    found === undefined
      ? await send({ ...input, request, thread, state }, context)
      : { offset: found.offset, isRepeat: true };
  const last = sent ?? (await newestRun(taskId, context));
  const question = await readQuestion({ taskId, offset: last.offset }, context.log);
  if (found !== undefined) await assertSameInput(request, input.items, question, context);
  const own = new Set(fresh);
  const before = messages.filter((message) => isConversation(message) && !own.has(message));
  return {
    ...{ request, taskId, agent, question },
    isRepeat: sent?.isRepeat ?? true,
    isInSync: !input.hasIgnored && isSame(before, known),
    warnings: [...request.warnings, ...input.warnings],
  };
}

/** Finds the thread of a client. Returns undefined if the caller has no such thread. */
export async function findThread(
  agentName: string,
  threadId: string,
  { service, log }: RouteContext,
): Promise<Thread | undefined> {
  const agent = await service.agents.get({ name: agentName });
  if (!isOffered(agent)) throw notOffered(agent.name);
  const task = (await getTask({ id: threadId })) ?? (await getTask({ name: threadId }));
  if (task === undefined) return undefined;
  if (!task.agents?.some(({ id }) => id === agent.id))
    throw refused('threadId', `this thread does not belong to the agent ${agent.name}`);
  await ensureSession(log, sessionId(task.id));
  return { taskId: task.id, agent };

  function getTask(ref: Parameters<typeof service.tasks.get>[0]) {
    return service.tasks.get(ref).catch((error: unknown): TaskResponse | undefined => {
      if (error instanceof ServerError && error.code === 'not_found') return undefined;
      throw error;
    });
  }
}

function notOffered(name: string): ServerError {
  const message = `Cannot use the agent ${name} with AG-UI: it is not an agent loop`;
  return new ServerError('not_found', message);
}

async function openThread(
  agentName: string,
  request: RunRequest,
  context: RouteContext,
): Promise<Thread> {
  const { threadId: name } = request;
  const found = await findThread(agentName, name, context);
  const { service, trace, log } = context;
  const agent = found?.agent ?? (await service.agents.get({ name: agentName }));
  assertAccepted(agent, request);
  if (found !== undefined) return found;
  // Invalid messages must not create a task.
  const first = itemsOf(request.messages);
  if (first.items.length === 0) throw nothingNew();
  const { id: taskId } = await service.tasks.create(agent.id, { name }, { trace });
  await ensureSession(log, sessionId(taskId));
  return { taskId, agent, first };
}

/** Refuses options of the caller if the agent does not accept them. */
function assertAccepted(agent: AgentInfo, { caller, messages }: RunRequest): void {
  if (agent.registration_metadata?.['caller_options'] === 'accept') return;
  const isInstruction = ({ role }: InputMessage) => role === 'system' || role === 'developer';
  const at = messages.findIndex(isInstruction);
  const param =
    caller.tools !== undefined
      ? 'tools'
      : caller.instructions !== undefined
        ? 'context'
        : at >= 0
          ? `messages[${at}]`
          : undefined;
  if (param === undefined) return;
  throw refused(
    param,
    `the agent ${agent.name} does not accept tools and instructions of its callers. Leave it out, or create the agent with callerOptions: 'accept'`,
  );
}

interface FreshInput {
  readonly items: readonly NewItem[];
  readonly commands: readonly Command[];
  /** True if the client has messages that the thread does not get. */
  readonly hasIgnored: boolean;
  readonly warnings: readonly string[];
}

/** Reads the messages that the session does not have yet, and the answers to its open calls. */
function readFresh(
  fresh: readonly InputMessage[],
  { asked, awaited }: FoldState,
  { first }: Thread,
  { answers }: RunRequest,
): FreshInput {
  if (first !== undefined) return { ...first, commands: [], hasIgnored: false };
  const waiting = new Set<string>(awaited.map(({ toolCallId }) => toolCallId));
  const isOutput = ({ role, toolCallId = '' }: InputMessage) =>
    role === 'tool' && waiting.has(toolCallId);
  const isUsed = (message: InputMessage) => !['assistant', 'tool'].includes(message.role);
  const { items, warnings } = itemsOf(fresh.filter(isUsed));
  const ignored = fresh.filter((message) => !isUsed(message) && !isOutput(message));
  const outputs = fresh.filter(isOutput).map((message): Command => {
    const call = {
      type: 'tool_output',
      tool_call_id: message.toolCallId ?? '',
      by: 'ag-ui',
    } as const;
    const output = outputOf(message, `the tool message ${message.id}`);
    return message.error === undefined ? { ...call, output } : { ...call, error: output };
  });
  const decided = answers.filter(({ callId }) => asked.some((one) => one.toolCallId === callId));
  const decisions = decided.map(
    ({ callId, isApproved, reason, input, fields, problem }): Command => {
      const call = { tool_call_id: callId, by: 'ag-ui' };
      const names = formFields(asked.find(({ toolCallId }) => toolCallId === callId)?.from);
      // A form can have a field `approved` of its own.
      const isForm = names.length > 0 && (problem !== undefined || names.includes('approved'));
      if (isForm && fields !== undefined) return { type: 'approve', ...call, input: fields };
      if (problem !== undefined) throw problem;
      return isApproved ? { type: 'approve', ...call, input } : { type: 'deny', ...call, reason };
    },
  );
  return {
    items,
    commands: [...outputs, ...decisions],
    hasIgnored: ignored.length > 0,
    warnings: [
      ...warnings,
      ...ignored.map(({ id }) => `The server ignores message ${id}: the thread does not have it`),
      ...answers
        .filter((answer) => !decided.includes(answer))
        .map(({ callId }) => `The server ignores an answer: no interrupt ${callId} is open`),
    ],
  };
}

interface Sending extends FreshInput {
  readonly request: RunRequest;
  readonly thread: Thread;
  readonly state: FoldState;
}

/** Sends the input. Returns undefined if there is none. */
async function send(
  { items, commands, request, thread, state }: Sending,
  context: RouteContext,
): Promise<{ readonly offset: number; readonly isRepeat: boolean } | undefined> {
  const { taskId, agent } = thread;
  if (items.length === 0 && commands.length === 0) return undefined;
  assertAnswered(state, commands);
  const { service, trace } = context;
  if (request.state !== undefined)
    await storeThreadState({ taskId, agentId: agent.id }, request.state, context);
  const key = keyOf(request);
  const submit = (command: Command, given: string, extras = {}) =>
    service.tasks.submit(taskId, command, { key: given, trace, ...extras });
  const sendItems = (type: 'message' | 'steer', given: string) => {
    const content = { type: 'text', author: 'user', content: '' } as never;
    return submit({ type, content }, given, { extras: { items: withOptions(items, request) } });
  };
  if (commands.length === 0) {
    const { offset, is_repeat: isRepeat } = await sendItems('message', key);
    return { offset, isRepeat };
  }
  // The message joins the request that follows the answers, so it must be on the log before the last answer.
  if (items.length > 0) await sendItems('steer', `${key}:steer`);
  let last = { offset: 0, isRepeat: false };
  for (const [index, command] of commands.entries()) {
    const isLast = index === commands.length - 1;
    const sent = await submit(command, isLast ? key : `${key}:${index}`);
    last = { offset: Math.max(last.offset, sent.offset), isRepeat: sent.is_repeat };
  }
  return last;
}

/** The idempotency key of the command that starts a run. */
function keyOf({ runId }: RunRequest): string {
  return `agui:${runId}`;
}

/** Adds the options of the caller to the last message of the user. The agent reads them there. */
function withOptions(
  items: readonly NewItem[],
  { caller, forwardedProps }: RunRequest,
): readonly NewItem[] {
  const last = items.findLastIndex(({ kind }) => kind === 'user');
  const at = last < 0 ? items.length - 1 : last;
  const props = forwardedProps === undefined ? {} : { forwardedProps };
  return items.map((item, index) => {
    if (index !== at) return item;
    const agui = { ids: [...idsOf(item)], ...props };
    const metadata: JsonObject = { caller: JSON.parse(JSON.stringify(caller)), agui };
    return { ...item, metadata };
  });
}

/** Refuses input if a call of the thread stays without an answer, as the protocol requires. */
function assertAnswered({ asked, awaited }: FoldState, commands: readonly Command[]): void {
  const answered = new Set(
    commands.flatMap((command) => ('tool_call_id' in command ? command.tool_call_id : [])),
  );
  const question = asked.find(({ toolCallId }) => !answered.has(toolCallId));
  if (question !== undefined)
    throw unanswered(
      `The interrupt ${question.toolCallId} is open. Answer it in resume, or stop the thread`,
    );
  const call = awaited.find(({ toolCallId }) => !answered.has(toolCallId));
  if (call !== undefined)
    throw unanswered(
      `The call ${call.toolCallId} of the tool ${call.name} has no result. Send a tool message, or stop the thread`,
    );
}

function unanswered(message: string): ServerError {
  return new ServerError('bad_state', message, {}, { details: { reason: 'unanswered_call' } });
}

/** Finds the newest run of a thread. A client of another protocol may have started it. */
async function newestRun(taskId: string, { log }: RouteContext): Promise<ResponseRef> {
  const { offset } = (await newestStart(taskId, log)) ?? {};
  if (offset === undefined) throw nothingNew();
  return { taskId, offset };
}

function nothingNew(): ServerError {
  return refused('messages', 'they contain nothing new, and the thread has no run to follow');
}

/** Refuses a run id that was used for other messages. The messages would be lost. */
async function assertSameInput(
  { runId }: RunRequest,
  items: readonly NewItem[],
  { taskId, offset }: Question,
  { log }: RouteContext,
): Promise<void> {
  if (items.length === 0) return;
  const { records } = await log.read(taskId, { from: offset - 1, maxBytes: 1 });
  const fact = records.find((one) => one.offset === offset)?.fact;
  const sent = fact?.type === 'command_queued' ? fact.command['items'] : undefined;
  const ids = new Set(((sent ?? []) as unknown as readonly NewItem[]).flatMap(idsOf));
  if (items.flatMap(idsOf).every((id) => ids.has(id))) return;
  const message = `Cannot send new messages in run ${runId}: the thread already has this run. Use a new runId`;
  throw new ServerError('conflict', message, { task: taskId });
}

/** Returns whether the client has the same messages as the session. */
function isSame(has: readonly InputMessage[], known: readonly ThreadMessage[]): boolean {
  const own = known.filter(({ role }) => role !== 'reasoning');
  const shape = ({ id, role, content = '', toolCalls = [] }: ThreadMessage | InputMessage) =>
    JSON.stringify([id, role, content, (toolCalls as readonly ToolCall[]).map(callShape)]);
  return has.length === own.length && has.every((one, at) => shape(one) === shape(own[at] ?? one));
}

function callShape({ id, function: called }: ToolCall): readonly string[] {
  // The session can have the same arguments in another form, such as with other spaces.
  const parsed = parseJson(called.arguments);
  return [id, called.name, parsed.ok ? JSON.stringify(parsed.value) : called.arguments];
}

interface ToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}
