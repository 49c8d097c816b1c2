import { type JsonObject, type JsonValue, sessionId } from '@millrace/core';
import { encodeComment, encodeFrame, sseHeaders } from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import { Reply, type RouteContext, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { stopResponse, whileConnected } from '../openai/write-response.ts';
import type { OpenedCall } from './open-call.ts';
import type { McpCaller } from './protocol/caller.ts';
import { errorMessage, McpError, type McpId, mcpCodes } from './protocol/rpc-message.ts';
import { requestState } from './protocol/run-ref.ts';
import { elicitation, questionId, submitAnswers } from './questions.ts';
import { followRun, type RunMoment } from './run-view.ts';
import { toolResult } from './tool-result.ts';

/** The request that a stream answers. */
export interface AnsweredRequest {
  readonly id: McpId;
  readonly caller: McpCaller;
  /** The client gets progress with this token. Undefined if it wants none. */
  readonly progressToken: McpId | undefined;
  /** The client has all messages up to this number. Default: it has none. */
  readonly after?: number | undefined;
  /** True if the stream only reads the run, and changes nothing. Default: false. */
  readonly isReadOnly?: boolean | undefined;
}

/** A message to the client, with its number in the stream. */
interface SentMessage {
  readonly number: number;
  readonly message: object;
}

/** Numbers per record: progress, questions, and the result. */
const perRecord = 64;

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
          response.write(`id: ${eventId(opened, request, 0)}\ndata:\n\n`);
        await writeLines(response, messages, {
          context,
          errorLine: (error) => encodeFrame({ data: JSON.stringify(failure(id, error, context)) }),
          line: ({ number, message }) => {
            isSent = 'result' in message;
            const eventOf = resumable ? { id: eventId(opened, request, number) } : {};
            return encodeFrame({ ...eventOf, data: JSON.stringify(message) });
          },
          heartbeat: { clock, everyMs: 15_000, text: `${encodeComment('ping')}\n` },
        });
      };
      try {
        // For versions before 2026-07-28, a closed connection is no cancellation.
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
  { id, caller, progressToken, after = -1, isReadOnly = false }: AnsweredRequest,
  context: RouteContext,
  signal: AbortSignal,
): AsyncGenerator<SentMessage> {
  const { question, tool } = opened;
  const { taskId } = question;
  const { log } = context;
  const asked = new Set<string>();
  const told = Math.floor(after / perRecord);
  for await (const run of followRun(question, log, signal, told)) {
    const base = run.at * perRecord;
    if (progressToken !== undefined && run.news.trim() !== '' && base > after)
      yield { number: base, message: progress(progressToken, run, question.offset) };
    if (run.end === undefined && run.waiting.length === 0 && !run.awaitsOutput) continue;
    const isLast = run.end !== undefined || caller.isModern || !caller.canElicit;
    if (run.end === undefined && tool.called !== undefined && !caller.canElicit) {
      if (!isReadOnly) await refuseQuestions(taskId, run, context);
      continue;
    }
    if (isLast) {
      const result = await finalResult(opened, run, caller, log);
      if (signal.aborted) return;
      yield { number: base + perRecord - 1, message: response(id, result, caller) };
      return;
    }
    const open = run.waiting.filter(({ toolCallId }) => !asked.has(toolCallId));
    for (const [index, one] of open.entries()) {
      asked.add(one.toolCallId);
      const number = base + 1 + Math.min(index, perRecord - 3);
      const params = elicitation(one, run.state);
      const request = { id: questionId(taskId, one), method: 'elicitation/create', params };
      if (number > after) yield { number, message: { jsonrpc: '2.0', ...request } };
    }
  }
}

/** Denies the questions of a tool if the client cannot show them. Nobody else waits for the tool. */
function refuseQuestions(taskId: string, { waiting }: RunMoment, context: RouteContext) {
  const content = {
    reason:
      'This call needs an approval, and the client of MCP cannot ask its user (it does not support elicitation). Allow the call with a rule of the server',
  };
  const answers = waiting.map(({ toolCallId }) => [toolCallId, { content }] as const);
  return submitAnswers(taskId, new Map(answers), context);
}

/** Returns the result of a call, or the questions that the user has to answer first. */
async function finalResult(
  { tool, call, question }: OpenedCall,
  run: RunMoment,
  { canElicit }: McpCaller,
  log: Log,
): Promise<JsonObject> {
  if (run.end === undefined && run.waiting.length > 0 && canElicit)
    return {
      resultType: 'input_required',
      inputRequests: inputRequests(run),
      requestState: requestState(question, call, run.at),
    };
  return toolResult(tool, question.taskId, run, log);
}

/** Returns the open questions of a run by the ids of their calls. */
export function inputRequests({ waiting, state }: RunMoment): JsonObject {
  return Object.fromEntries(
    waiting.map((asked) => [
      asked.toolCallId,
      { method: 'elicitation/create', params: elicitation(asked, state) },
    ]),
  );
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
}

/** Returns the id of an event. It contains all that is needed to continue the stream after a disconnect. */
function eventId(
  { question, tool }: OpenedCall,
  { id, progressToken: token }: AnsweredRequest,
  number: number,
): string {
  const { taskId, offset } = question;
  const place: StreamPlace = { run: [taskId, offset], tool: tool.name, id, token, number };
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Reads the id of an event. Returns undefined if the text is no such id. */
export function parseEventId(text: string): StreamPlace | undefined {
  try {
    const value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as JsonValue;
    const place = value as unknown as StreamPlace;
    const [taskId, offset] = place.run;
    const isValid =
      typeof taskId === 'string' &&
      Number.isSafeInteger(offset) &&
      Number.isSafeInteger(place.number) &&
      typeof place.tool === 'string';
    return isValid ? place : undefined;
  } catch {
    return undefined;
  }
}
