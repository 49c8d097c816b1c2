import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, type JsonObject, sessionId } from '@millrace/core';
import { callMessage } from '../../agents/tool-agent.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import { ensureSession } from '../../journal/session-lease.ts';
import { readChatNear } from '../chat/chat-state.ts';
import { type Question, readQuestion } from '../openai/response-log.ts';
import { messagesBackward, type ResponseRef } from '../openai/response-starts.ts';
import { assertAbilities, assertHeader, type McpCaller } from './protocol/caller.ts';
import { field, invalidParams, McpError } from './protocol/rpc-message.ts';
import { type CalledTool, isStateOf, runOfState } from './protocol/run-ref.ts';
import { answersById, readAnswers, submitAnswers } from './questions.ts';
import { readRun } from './run-view.ts';
import { listTools, type OfferedTool } from './tool-list.ts';

/** A call of a tool whose run is on the log. */
export interface OpenedCall {
  readonly tool: OfferedTool;
  readonly call: CalledTool;
  readonly question: Question;
  /** True if the call sent no message, and only waits for a run. Default: false. */
  readonly onlyWaits?: boolean | undefined;
}

/** A problem with the arguments of a call. The model of the client gets it as a result and can correct it. */
export class CallProblem extends Error {}

/** Sends a call of a tool to its session, or the answers of the user to a call that waits for them. */
export async function openCall(
  params: JsonObject,
  caller: McpCaller,
  context: RouteContext,
): Promise<OpenedCall> {
  const { name, arguments: given = {} } = params;
  if (typeof name !== 'string') throw invalidParams('Cannot call a tool: name is not a text');
  if (!isJsonObject(given))
    throw invalidParams('Cannot call the tool: arguments are not an object');
  const tool = await findTool(name, context);
  assertAbilities(caller, tool);
  if (caller.isModern) assertParamHeaders(tool.inputSchema, given, context.headers);
  const call = { name, arguments: given };
  try {
    const ref = await openRun(tool, call, params, context);
    const onlyWaits = tool.called === undefined && given['message'] === undefined;
    return { tool, call, question: await readQuestion(ref, context.log), onlyWaits };
  } catch (error) {
    throw callProblem(error) ?? error;
  }
}

/** Finds a tool by its name. Throws if the caller has no such tool. */
export async function findTool(name: string, context: RouteContext): Promise<OfferedTool> {
  const tool = (await listTools(context)).find((one) => one.name === name);
  if (tool !== undefined) return tool;
  throw invalidParams(`Cannot find the tool ${name.slice(0, 128)}. tools/list has all tools`);
}

async function openRun(
  tool: OfferedTool,
  call: CalledTool,
  params: JsonObject,
  context: RouteContext,
): Promise<ResponseRef> {
  const state = field(params, 'requestState');
  if (state !== undefined) return resumeCall(state, tool, call, params, context);
  return tool.called === undefined
    ? sendMessage(tool, call.arguments, context)
    : sendCall(tool, tool.called, call.arguments, context);
}

/** Sends the answers of the user to the run that waits for them. */
async function resumeCall(
  state: unknown,
  tool: OfferedTool,
  call: CalledTool,
  params: JsonObject,
  context: RouteContext,
): Promise<ResponseRef> {
  const wrong = () => invalidParams('Cannot use this requestState: it belongs to another call');
  const ref = typeof state === 'string' ? runOfState(state) : undefined;
  if (ref === undefined) throw wrong();
  const question = await findRun(ref, context);
  if (question === undefined || !isStateOf(String(state), question, call)) throw wrong();
  const { waiting } = await readRun(question, context.log);
  const answers = answersById(readAnswers(params), waiting, tool);
  await submitAnswers(ref.taskId, answers, context);
  return ref;
}

/** Reads the message of a run. Returns undefined if the caller has no such run. */
export async function findRun(
  ref: ResponseRef,
  { service, log }: Pick<RouteContext, 'service' | 'log'>,
): Promise<Question | undefined> {
  try {
    await service.tasks.get({ id: ref.taskId });
    return await readQuestion(ref, log);
  } catch (error) {
    if (error instanceof ServerError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** Maximum length of a message, in characters. */
const maxMessageLength = 500_000;

async function sendMessage(
  { agent }: OfferedTool,
  args: JsonObject,
  context: RouteContext,
): Promise<ResponseRef> {
  const { message, session_id: session, ...rest } = args;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    throw new CallProblem(`There is no argument ${unknown.slice(0, 64)}. Use message, session_id`);
  if (session !== undefined && (typeof session !== 'string' || session === ''))
    throw new CallProblem('session_id is not a text');
  if (message !== undefined && (typeof message !== 'string' || message === ''))
    throw new CallProblem('message is not a text, or it is empty');
  if (message === undefined && session === undefined)
    throw new CallProblem('message is missing. Send the message for the agent');
  if (message !== undefined && message.length > maxMessageLength)
    throw new CallProblem(`message is longer than ${maxMessageLength} characters`);
  const { service, log } = context;
  if (session === undefined) {
    const { id } = await service.tasks.create(agent.id, {}, { trace: context.trace });
    return submit(id, message ?? '', context);
  }
  const task = await service.tasks.get({ id: session });
  if (!task.agents?.some(({ id }) => id === agent.id))
    throw new CallProblem(`The session ${session} does not belong to the agent ${agent.name}`);
  await ensureSession(log, sessionId(task.id));
  if (message === undefined) return context.inTurn(() => newestRun(task.id, context), 'refuse');
  const { fold } = await context.inTurn(() => readChatNear(log, task.id), 'refuse');
  if (fold.asked.length + fold.awaited.length > 0)
    throw new CallProblem(
      `The session ${session} waits for an answer of a person. Call the tool without a message to continue after the answer, or use a new session`,
    );
  return submit(task.id, message, context);
}

/** Runs a tool of an agent without a model, in a session of its own. */
async function sendCall(
  { agent }: OfferedTool,
  name: string,
  args: JsonObject,
  context: RouteContext,
): Promise<ResponseRef> {
  const metadata = { archived: true, title: name.slice(0, 200) };
  const body = { task_metadata: metadata };
  const { id } = await context.service.tasks.create(agent.id, body, { trace: context.trace });
  return submit(id, callMessage({ name, arguments: args }), context);
}

async function submit(
  taskId: string,
  text: string,
  { service, trace }: RouteContext,
): Promise<ResponseRef> {
  const content = { type: 'text', author: 'user', content: text } as never;
  // The key is random, because it signs the state that the client sends back.
  const sent = { key: `mcp:${randomUUID()}`, trace };
  const { offset } = await service.tasks.submit(taskId, { type: 'message', content }, sent);
  return { taskId, offset };
}

/** Finds the message that started the newest run. */
async function newestRun(taskId: string, { log }: RouteContext): Promise<ResponseRef> {
  for await (const offset of messagesBackward(taskId, log)) return { taskId, offset };
  throw new CallProblem(`The session ${taskId} has no run. Send a message`);
}

/** The codes of errors that a better call can avoid. */
const correctable: ReadonlySet<string> = new Set([
  ...['invalid', 'not_found', 'bad_state', 'conflict', 'too_large', 'forbidden', 'gone'],
]);

function callProblem(error: unknown): CallProblem | undefined {
  if (error instanceof CallProblem || error instanceof McpError) return undefined;
  if (!(error instanceof ServerError) || !correctable.has(error.code)) return undefined;
  return new CallProblem(error.message, { cause: error });
}

/** Maximum depth to which the schema of a tool is searched for headers. */
const maxDepth = 16;

/** Refuses a call whose headers `Mcp-Param-…` differ from its arguments. */
function assertParamHeaders(
  schema: JsonObject,
  args: JsonObject,
  headers: IncomingHttpHeaders,
  depth = 0,
): void {
  const properties = field(schema, 'properties');
  if (!isJsonObject(properties) || depth > maxDepth) return;
  for (const [name, property] of Object.entries(properties)) {
    if (!isJsonObject(property)) continue;
    const value = field(args, name);
    const header = field(property, 'x-mcp-header');
    if (isJsonObject(value)) assertParamHeaders(property, value, headers, depth + 1);
    else if (typeof header === 'string' && value != null)
      assertHeader(
        `Mcp-Param-${header}`,
        headers[`mcp-param-${header.toLowerCase()}`],
        value,
        true,
      );
  }
}
