import { isJsonObject, type JsonObject } from '@millrace/core';
import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import type { Question, ResponseEnd } from '../openai/response-log.ts';
import { stopResponse } from '../openai/write-response.ts';
import { findRun } from './open-call.ts';
import { type McpCaller, missingCapability, tasksExtension } from './protocol/caller.ts';
import { field, invalidParams, mcpCodes } from './protocol/rpc-message.ts';
import { parseTaskId, taskIdOf } from './protocol/run-ref.ts';
import { answersById, readAnswers, submitAnswers } from './questions.ts';
import { endText, type RunMoment, readRun } from './run-view.ts';
import { listTools, type OfferedTool } from './tool-list.ts';
import { toolResult } from './tool-result.ts';
import { inputRequests } from './write-call.ts';

/** The time between two requests that the server proposes to clients. */
const pollIntervalMs = 1000;

/** Refuses a request about tasks if the client does not support them. */
export function assertTasks({ hasTasks }: McpCaller): void {
  if (hasTasks) return;
  throw missingCapability(
    { extensions: { [tasksExtension]: {} } },
    `This request needs the client capability ${tasksExtension}`,
  );
}

/** Finds the run of a task. Throws if the caller has no such task. */
export async function findTask(id: unknown, context: RouteContext): Promise<Question> {
  const ref = parseTaskId(id);
  const question = ref && (await findRun(ref, context));
  if (question !== undefined) return question;
  throw invalidParams('Cannot find this task');
}

/** Returns a task without its result, as the reply to the call that created it. */
export function createdTask(question: Question): JsonObject {
  return { resultType: 'task', ...taskHead(question, question.at), status: 'working' };
}

function taskHead(question: Question, updatedAt: number): JsonObject {
  return {
    taskId: taskIdOf(question),
    createdAt: new Date(question.at).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    // The server keeps a session until someone deletes it.
    ttlMs: null,
    pollIntervalMs,
  };
}

/** Returns a task as it is now. */
export async function readTask(
  question: Question,
  caller: McpCaller,
  context: RouteContext,
): Promise<JsonObject> {
  const describe = await taskReader(question, caller, context);
  try {
    return await describe(await readRun(question, context.log));
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    const { code, message } = error;
    const failed = { code: mcpCodes.failed, message, data: { code } };
    return { ...taskHead(question, question.at), status: 'failed', error: failed };
  }
}

/** Returns a function that describes the moments of a task. */
export async function taskReader(
  question: Question,
  caller: McpCaller,
  context: RouteContext,
): Promise<(run: RunMoment) => Promise<JsonObject>> {
  const tool = await taskTool(question, context);
  return (run) => taskState(question, run, tool, caller, context);
}

/** Finds the tool of a task. Returns undefined if the server does not offer it any more. */
async function taskTool(
  { taskId }: Question,
  context: RouteContext,
): Promise<OfferedTool | undefined> {
  const { agents, task_metadata: metadata } = await context.service.tasks.get({ id: taskId });
  const agentId = agents?.[0]?.id;
  const tools = (await listTools(context)).filter(({ agent }) => agent.id === agentId);
  return (
    tools.find(({ called }) => called !== undefined && called === metadata?.['title']) ?? tools[0]
  );
}

async function taskState(
  question: Question,
  run: RunMoment,
  tool: OfferedTool | undefined,
  caller: McpCaller,
  { log }: RouteContext,
): Promise<JsonObject> {
  const head = taskHead(question, run.time);
  const { end, waiting, awaitsOutput } = run;
  if (end === undefined) {
    const requests = tool && inputRequests(run, tool, caller);
    if (requests !== undefined)
      return { ...head, status: 'input_required', inputRequests: requests };
    if (waiting.length === 0 && !awaitsOutput) return { ...head, status: 'working' };
    const statusMessage = 'A person has to answer a question of the agent, in another client';
    return { ...head, status: 'working', statusMessage };
  }
  if (end.stop.reason === 'aborted' && end.stop.cause !== 'interrupted')
    return { ...head, status: 'cancelled' };
  // A run without an outcome has no result that the model of the client can use.
  if (end.stop.reason === 'error' || end.stop.reason === 'aborted')
    return { ...head, status: 'failed', error: runError(question, end) };
  const result = tool && (await toolResult(tool, question.taskId, run, log));
  return { ...head, status: 'completed', result: result ?? {} };
}

/** Returns the error of a run that failed, or that ended with its process. The session has the partial answer. */
function runError({ taskId }: Question, end: ResponseEnd): JsonObject {
  const data = { session_id: taskId, ...(end.error && { code: end.error.code }) };
  return { code: mcpCodes.internal, message: endText(end) ?? 'The run failed', data };
}

/** Sends the answers of a user to a task. */
export async function updateTask(params: JsonObject, context: RouteContext): Promise<void> {
  const question = await findTask(field(params, 'taskId'), context);
  if (!isJsonObject(field(params, 'inputResponses')))
    throw invalidParams('Cannot update the task: inputResponses is not an object');
  const given = readAnswers(params);
  const tool = await taskTool(question, context);
  const { waiting } = await readRun(question, context.log);
  const answers = tool === undefined ? given : answersById(given, waiting, tool);
  await submitAnswers(question.taskId, answers, context);
}

/** Stops the run of a task. A task that has ended stays as it is. */
export async function cancelTask(params: JsonObject, context: RouteContext): Promise<void> {
  const question = await findTask(field(params, 'taskId'), context);
  await stopResponse(question, context, { spansQuestions: true });
}
