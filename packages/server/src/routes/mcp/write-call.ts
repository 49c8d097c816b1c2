import { type AskedApproval, type JsonObject, type JsonValue, sessionId } from '@millrace/core';
import { encodeComment, encodeFrame, sseHeaders } from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import { Reply, type RouteContext, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { stopResponse, whileConnected } from '../openai/write-response.ts';
import type { OpenedCall } from './open-call.ts';
import { type LogLevel, logLevels, type McpCaller } from './protocol/caller.ts';
import { errorMessage, McpError, type McpId, mcpCodes } from './protocol/rpc-message.ts';
import { requestState } from './protocol/run-ref.ts';
import { canAnswer, clientRequest, questionId, questionKey, submitAnswers } from './questions.ts';
import { followRun, maxLogsPerRecord, type RunLog, type RunMoment } from './run-view.ts';
import type { OfferedTool } from './tool-list.ts';
import { toolResult } from './tool-result.ts';

/** The request that a stream answers. */
export interface AnsweredRequest {
  readonly id: McpId;
  readonly caller: McpCaller;
  /** The client gets progress with this token. Undefined if it wants none. */
  readonly progressToken: McpId | undefined;
  /** The client gets messages about the run of this level and above. Default: none. */
  readonly logLevel?: LogLevel | undefined;
  /** The answers that came with the call, by the keys of their questions. Default: none. */
  readonly answers?: ReadonlyMap<string, JsonObject | undefined> | undefined;
  /** The client has all messages up to this number. Default: it has none. */
  readonly after?: number | undefined;
  /** The client has all progress up to this offset. Default: it has none. */
  readonly told?: number | undefined;
  /** True if the stream only reads the run, and changes nothing. Default: false. */
  readonly isReadOnly?: boolean | undefined;
}

/** A message to the client, with its number in the stream. */
interface SentMessage {
  readonly number: number;
  readonly message: object;
  /** The client has all progress up to this offset when it has the message. */
  readonly told: number;
}

/** Numbers per record: logs from 0, progress, questions, and the result. */
const perRecord = 64;
const progressNumber = maxLogsPerRecord;
const resultNumber = perRecord - 1;

/**
 * Calls that a client can cancel with `notifications/cancelled`. Such a notification names only the connection
 * and the request, so the process of the open stream must receive it.
 */
const openCalls = new WeakMap<Log, Map<string, () => Promise<void>>>();

function callsOf(log: Log): Map<string, () => Promise<void>> {
  const calls = openCalls.get(log) ?? new Map<string, () => Promise<void>>();
  openCalls.set(log, calls);
  return calls;
}

const callKey = (connection: string, id: McpId) => `${connection} ${JSON.stringify(id)}`;

/** Stops the run of a call that the client cancels. Unknown requests are ignored, as the protocol says. */
export async function cancelCall(connection: string, id: McpId, log: Log): Promise<void> {
  await callsOf(log).get(callKey(connection, id))?.();
}

/** Streams progress, questions and the result of a call. A client that accepts no stream gets only the result. */
export function streamCall(
  opened: OpenedCall,
  request: AnsweredRequest,
  context: RouteContext,
): StreamReply {
  const { caller, id, isReadOnly = false } = request;
  const { question, tool, onlyWaits = false } = opened;
  const { clock, closing, log } = context;
  const hasStream = String(context.headers.accept ?? '').includes('text/event-stream');
  return new StreamReply(
    async (response) => {
      const cancelled = new AbortController();
      const calls = callsOf(log);
      const key = caller.connection === undefined ? undefined : callKey(caller.connection, id);
      const cancel = async () => {
        cancelled.abort();
        if (!onlyWaits) await stopResponse(question, context, { spansQuestions: true });
      };
      if (key !== undefined && !isReadOnly) calls.set(key, cancel);
      let isSent = false;
      const work = async (signal: AbortSignal) => {
        const either = AbortSignal.any([signal, cancelled.signal]);
        const messages = callMessages(opened, request, context, either);
        if (!hasStream) {
          let last: object = {};
          for await (const { message } of messages) last = message;
          for (let full = context.full(); full; full = context.full()) await full;
          if (either.aborted || response.destroyed) return;
          response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
          response.end(JSON.stringify(last));
          isSent = true;
          return;
        }
        response.writeHead(200, { ...sseHeaders });
        response.flushHeaders();
        const resumable = !caller.isModern;
        if (caller.version === '2025-11-25' && request.after === undefined)
          response.write(`id: ${eventId(opened, request, 0, 0)}\ndata:\n\n`);
        await writeLines(response, messages, {
          context,
          errorLine: (error) => encodeFrame({ data: JSON.stringify(failure(id, error, context)) }),
          line: ({ number, message, told }) => {
            isSent = 'result' in message;
            const eventOf = resumable ? { id: eventId(opened, request, number, told) } : {};
            return encodeFrame({ ...eventOf, data: JSON.stringify(message) });
          },
          heartbeat: { clock, everyMs: 15_000, text: `${encodeComment('ping')}\n` },
        });
      };
      try {
        // For versions before 2026-07-28, a closed connection does not cancel the call.
        // A client that only waited for the run of another client must not stop the run.
        const options = { stopsOnClose: caller.isModern && !isReadOnly && !onlyWaits };
        await whileConnected(
          { question, agent: tool.agent.name },
          response,
          options,
          context,
          work,
        );
      } finally {
        if (key !== undefined && calls.get(key) === cancel) calls.delete(key);
      }
      if (isSent && tool.isReading && !isReadOnly && !closing.aborted)
        await forget(opened, context);
    },
    { isReplay: true },
  );
}

/** Deletes the session of a call that changed nothing, when its result is sent. */
async function forget({ question }: OpenedCall, { service, log }: RouteContext): Promise<void> {
  if ((await log.info(question.taskId))?.hasWork === true) return;
  await service.tasks.delete(question.taskId);
  await log.delete(sessionId(question.taskId));
}

/** Returns the error of a call as a message. */
export function failure(id: McpId, error: unknown, context: RouteContext): object {
  return errorMessage(id, toMcpError(error, context));
}

/** Converts any error to an error of the protocol. */
export function toMcpError(error: unknown, { toServerError }: RouteContext): McpError {
  if (error instanceof McpError) return error;
  const { code, message } = toServerError(error);
  const number = code === 'internal' ? mcpCodes.internal : mcpCodes.failed;
  return new McpError(number, message, { data: { code } });
}

async function* callMessages(
  opened: OpenedCall,
  request: AnsweredRequest,
  context: RouteContext,
  signal: AbortSignal,
): AsyncGenerator<SentMessage> {
  const { id, caller, progressToken, logLevel, after = -1, isReadOnly = false } = request;
  const { question, tool } = opened;
  const { taskId } = question;
  const { log } = context;
  const asked = new Set<string>();
  const answers = new Map(request.answers);
  let { told = Math.floor(after / perRecord) } = request;
  for await (const run of followRun(question, log, signal, told)) {
    const base = run.at * perRecord;
    for (const one of run.logs) {
      const number = one.at * perRecord + one.index;
      if (logLevel === undefined || !isAtLeast(one.level, logLevel) || number <= after) continue;
      yield { number, told, message: logMessage(one) };
    }
    const hasNews = progressToken !== undefined && run.news.trim() !== '' && run.at > told;
    told = Math.max(told, run.at);
    if (hasNews) {
      const message = progress(progressToken, run, question.offset);
      yield { number: base + progressNumber, told, message };
    }
    if (run.end === undefined && run.waiting.length === 0 && !run.awaitsOutput) continue;
    const open = run.waiting.filter((one) => canAnswer(one, caller));
    const closed = run.waiting.filter((one) => !canAnswer(one, caller));
    if (closed.length > 0 && tool.called !== undefined) {
      if (!isReadOnly) await refuseQuestions(taskId, closed, context);
      continue;
    }
    if (await answerNamed(opened, open, answers, context)) continue;
    const isShown = caller.abilities.has('elicitation') || open.length > 0;
    if (run.end !== undefined || caller.isModern || !isShown) {
      const result = await finalResult(opened, run, caller, log);
      if (signal.aborted) return;
      yield { number: base + resultNumber, told, message: response(id, result, caller) };
      return;
    }
    for (const [index, one] of open.filter((each) => !asked.has(each.toolCallId)).entries()) {
      asked.add(one.toolCallId);
      const number = base + progressNumber + 1 + Math.min(index, resultNumber - progressNumber - 2);
      const params = { id: questionId(taskId, one), ...clientRequest(one, run.state, caller) };
      if (number > after) yield { number, told, message: { jsonrpc: '2.0', ...params } };
    }
  }
}

/**
 * Answers open questions with the answers that came with the call. Each answer is used once, and only for a form
 * that the tool named. Returns whether there was such an answer.
 */
async function answerNamed(
  { question, tool }: OpenedCall,
  open: readonly AskedApproval[],
  answers: Map<string, JsonObject | undefined>,
  context: RouteContext,
): Promise<boolean> {
  const given = open.flatMap((asked) => {
    const key = questionKey(asked, tool);
    const answer = key === asked.toolCallId ? undefined : answers.get(key);
    answers.delete(key);
    return answer === undefined ? [] : [[asked.toolCallId, answer] as const];
  });
  if (given.length === 0) return false;
  await submitAnswers(question.taskId, new Map(given), context);
  return true;
}

/** Denies the questions of a tool if the client cannot show them. Nobody else waits for the tool. */
function refuseQuestions(taskId: string, closed: readonly AskedApproval[], context: RouteContext) {
  const content = {
    reason:
      'This call needs an approval, and the client of MCP cannot ask its user (it does not support elicitation). Allow the call with a rule of the server',
  };
  const answers = closed.map(({ toolCallId }) => [toolCallId, { content }] as const);
  return submitAnswers(taskId, new Map(answers), context);
}

/** Returns the result of a call, or the questions that the user has to answer first. */
async function finalResult(
  { tool, call, question }: OpenedCall,
  run: RunMoment,
  caller: McpCaller,
  log: Log,
): Promise<JsonObject> {
  const requests = run.end === undefined ? inputRequests(run, tool, caller) : undefined;
  if (requests !== undefined)
    return {
      resultType: 'input_required',
      inputRequests: requests,
      requestState: requestState(question, call, run.at),
    };
  return toolResult(tool, question.taskId, run, log);
}

/** Returns the open questions that the client can answer, by their keys. Returns undefined if there are none. */
export function inputRequests(
  { waiting, state }: RunMoment,
  tool: OfferedTool,
  caller: McpCaller,
): JsonObject | undefined {
  const open = waiting.filter((asked) => canAnswer(asked, caller));
  if (open.length === 0) return undefined;
  return Object.fromEntries(
    open.map((asked) => [questionKey(asked, tool), clientRequest(asked, state, caller)]),
  );
}

function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}

function logMessage({ level, logger, text }: RunLog): object {
  return { jsonrpc: '2.0', method: 'notifications/message', params: { level, logger, data: text } };
}

function progress(progressToken: McpId, { news, at }: RunMoment, start: number): object {
  const params = { progressToken, progress: at - start, message: news };
  return { jsonrpc: '2.0', method: 'notifications/progress', params };
}

/** The name and version of the server, for clients. */
export const serverInfo = { name: 'millrace', title: 'Millrace', version: '0.0.0' };

/** Returns the response to a request. Results for modern clients have a type and name the server. */
export function response(id: McpId, result: JsonObject, { isModern }: McpCaller): object {
  if (!isModern) return { jsonrpc: '2.0', id, result };
  const meta = { 'io.modelcontextprotocol/serverInfo': serverInfo };
  const { _meta: own } = result as { readonly _meta?: JsonObject };
  return {
    ...{ jsonrpc: '2.0', id },
    result: { resultType: 'complete', ...result, _meta: { ...own, ...meta } },
  };
}

/** Returns the reply with one message. */
export function jsonReply(message: object, status = 200, isRefusable = false): Reply {
  return new Reply(message, { status, isRefusable });
}

/** What a stream needs to continue: the run, the tool, the request, and the token for progress. */
interface StreamPlace {
  readonly run: readonly [taskId: string, offset: number];
  readonly tool: string;
  readonly id: McpId;
  readonly token: McpId | undefined;
  readonly number: number;
  /** The client has all progress up to this offset. Undefined in ids of earlier versions of this server. */
  readonly told?: number | undefined;
}

/** Returns the id of an event. It contains all that is needed to continue the stream after a disconnect. */
function eventId(
  { question, tool }: OpenedCall,
  { id, progressToken: token }: AnsweredRequest,
  number: number,
  told: number,
): string {
  const { taskId, offset } = question;
  const place: StreamPlace = { run: [taskId, offset], tool: tool.name, id, token, number, told };
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Reads the id of an event. Returns undefined if the text is not such an id. */
export function parseEventId(text: string): StreamPlace | undefined {
  try {
    const value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as JsonValue;
    const place = value as unknown as StreamPlace;
    const [taskId, offset] = place.run;
    const isValid =
      typeof taskId === 'string' &&
      Number.isSafeInteger(offset) &&
      Number.isSafeInteger(place.number) &&
      (place.told === undefined || Number.isSafeInteger(place.told)) &&
      typeof place.tool === 'string';
    return isValid ? place : undefined;
  } catch {
    return undefined;
  }
}
