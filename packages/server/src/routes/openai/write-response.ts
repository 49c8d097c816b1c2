import { sessionId } from '@millrace/core';
import { encodeComment, encodeFrame, sseHeaders } from '@millrace/core/streams';
import { snapshot } from '@millrace/log';
import type { HttpResponse } from '../../contract/http.ts';
import { ServerError } from '../../contract/server-error.ts';
import { type RouteContext, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { conversationItems } from './conversation-items.ts';
import { openAiError, openAiErrorReply } from './openai-error.ts';
import { eventsOf, type OpenedResponse } from './response-events.ts';
import { openStored, type Question, type ResponseLog } from './response-log.ts';
import type { OutputItem, ResponseResource } from './response-resource.ts';
import { type ResponseEvent, ResponseView } from './response-view.ts';

interface WriteOptions {
  /** Returns the texts of the data lines for an event. */
  readonly lines: (event: ResponseEvent) => readonly string[];
  /** True if each event has its type as the name of its SSE event. */
  readonly isNamed: boolean;
  /** The client has all events up to this number. Default: it has none. */
  readonly after?: number | undefined;
  /** True if the run stops when the client disconnects. */
  readonly stopsOnClose: boolean;
  /** True if the session is deleted at the end. */
  readonly isDeleted?: boolean | undefined;
}

/** Writes the events of a response as server-sent events. */
export function streamResponse(
  opened: OpenedResponse,
  options: WriteOptions,
  context: RouteContext,
): StreamReply {
  const { isNamed, lines, after = -1 } = options;
  const { clock, toServerError } = context;
  return new StreamReply(async (response) => {
    response.writeHead(200, { ...sseHeaders });
    response.flushHeaders();
    const frame = ({ type }: ResponseEvent, data: string) =>
      encodeFrame(isNamed ? { event: type, data } : { data });
    const frames = async function* (signal: AbortSignal) {
      for await (const event of eventsOf(opened, context, signal, after))
        for (const line of lines(event)) yield frame(event, line);
      if (!signal.aborted) yield encodeFrame({ data: '[DONE]' });
    };
    const errorLine = (error: unknown) => {
      const about = openAiError(toServerError(error));
      const { message, code, param } = about;
      const event = { type: 'error', sequence_number: after + 1, code, message, param };
      const data = JSON.stringify(isNamed ? { ...event, error: about } : { error: about });
      return encodeFrame(isNamed ? { event: 'error', data } : { data });
    };
    await whileConnected(opened, response, options, context, (signal) =>
      writeLines(response, frames(signal), {
        ...{ context, errorLine, line: (text) => text },
        heartbeat: { clock, everyMs: 15_000, text: `${encodeComment('ping')}\n` },
      }),
    );
  }, replay);
}

/** A stream that starts with the stored content of its run. */
const replay = { isReplay: true };

/** Waits for the end of a response and writes it as JSON. */
export function sendResponse(
  opened: OpenedResponse,
  bodyOf: (resource: ResponseResource) => unknown,
  options: Pick<WriteOptions, 'stopsOnClose' | 'isDeleted'>,
  context: RouteContext,
): StreamReply {
  return new StreamReply(async (response) => {
    const send = async (signal: AbortSignal) => {
      const reply = await finalBody(opened, bodyOf, signal, context);
      for (let full = context.full(); full; full = context.full()) await full;
      if (signal.aborted || response.destroyed) return;
      response.writeHead(reply.status, { ...jsonHeaders, ...reply.headers });
      response.end(JSON.stringify(reply.body));
    };
    await whileConnected(opened, response, options, context, send);
  });
}

const jsonHeaders = {
  ...{ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
};

async function finalBody(
  opened: OpenedResponse,
  bodyOf: (resource: ResponseResource) => unknown,
  signal: AbortSignal,
  context: RouteContext,
) {
  try {
    let last: ResponseResource | undefined;
    for await (const { response } of eventsOf(opened, context, signal)) last = response ?? last;
    if (context.closing.aborted) throw serverClosing();
    return { status: 200, headers: {}, body: last && bodyOf(last) };
  } catch (error) {
    const { status = 500, headers, body } = openAiErrorReply(context.toServerError(error));
    return { status, headers, body };
  }
}

function serverClosing(): ServerError {
  const message =
    'Cannot wait for the response: the server is closing. The session continues after the restart';
  return new ServerError('unavailable', message);
}

/**
 * Runs work until the client disconnects or the server closes. A disconnect stops the run if the options say
 * so. A server that closes does not stop the run, because the run continues after the restart.
 */
export async function whileConnected(
  { question }: OpenedResponse,
  response: HttpResponse,
  { stopsOnClose, isDeleted = false }: Pick<WriteOptions, 'stopsOnClose' | 'isDeleted'>,
  context: RouteContext,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { closing } = context;
  const left = new AbortController();
  let isOver = false;
  const leave = () => left.abort();
  response.once('close', leave);
  closing.addEventListener('abort', leave, { once: true });
  if (response.destroyed || closing.aborted) leave();
  try {
    await work(left.signal);
    isOver = !left.signal.aborted;
  } finally {
    response.off('close', leave);
    closing.removeEventListener('abort', leave);
    if (!closing.aborted) {
      if (!isOver && stopsOnClose) await stopResponse(question, context);
      if (isDeleted) await context.service.tasks.delete(question.taskId);
    }
  }
}

/** Returns a response as it is now. */
export async function readResource(
  { question, agent }: OpenedResponse,
  { log }: Pick<RouteContext, 'log'>,
): Promise<{ readonly resource: ResponseResource; readonly response: ResponseLog }> {
  const view = new ResponseView(question, agent);
  const { response, steps } = await openStored(question, log);
  for (const step of steps) view.add(step);
  return { resource: view.resource(), response };
}

/**
 * Returns the items that a response answers: all items of its session before its first turn. It omits items of
 * the response's own output, for example a call that the request approves.
 */
export async function inputItems(
  opened: OpenedResponse,
  { log }: Pick<RouteContext, 'log'>,
): Promise<readonly OutputItem[]> {
  const { question, agent } = opened;
  const view = new ResponseView(question, agent);
  const { response, steps } = await openStored(question, log);
  for (const step of steps) view.add(step);
  const own = new Set(view.resource().output.map(({ id }) => id));
  const turn = steps.find(({ record }) => record.fact?.type === 'turn_started');
  const through = turn === undefined ? response.state.through : turn.record.offset;
  const state = await snapshot(log, sessionId(question.taskId), { through });
  return conversationItems(state, agent).filter(({ id }) => !own.has(id));
}

/** Stops a response: it withdraws a message that still waits, and aborts a run that has started. */
export async function stopResponse(
  question: Question,
  { service, log, trace }: Pick<RouteContext, 'service' | 'log' | 'trace'>,
  options: Parameters<typeof openStored>[2] = {},
): Promise<void> {
  const { response } = await openStored(question, log, options);
  if (response.end !== undefined) return;
  const command = response.isRunning
    ? ({ type: 'abort', reason: 'The client stopped the response' } as const)
    : ({ type: 'withdraw', key: question.key } as const);
  await service.tasks.submit(question.taskId, command, { trace });
}
