import { createHash } from 'node:crypto';
import { isMillraceError } from '@millrace/core';
import { sseHeaders } from '@millrace/core/streams';
import { ServerError } from '../../contract/server-error.ts';
import { type RouteContext, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { badRequest, formatOffset, parseOffset, resolveOffset } from './request-headers.ts';
import {
  type ReadableSource,
  type StreamPage,
  type StreamPosition,
  streamPages,
} from './stream-pages.ts';
import { isJsonType, mediaType } from './stream-state.ts';

/** The query of a read. */
export interface ReadQuery {
  /** Undefined if the client sent none. */
  readonly offset: string | undefined;
  readonly live: string | undefined;
  readonly cursor: string | undefined;
}

/** Headers of every answer with data. A page of another content type must not run scripts on this origin. */
const contentHeaders = {
  'content-security-policy': "sandbox; default-src 'none'",
  'cache-control': 'private, no-cache',
};

/** Answers a read: at once, after a wait for new data, or as server-sent events. */
export async function readStream(
  source: ReadableSource,
  query: ReadQuery,
  context: RouteContext,
): Promise<StreamReply> {
  const { offset, live } = query;
  const isLive = live === 'long-poll' || live === 'sse';
  if (isLive && offset === undefined)
    throw badRequest('Cannot read live data without an offset. Send offset=-1 to read everything');
  const position = await source.position();
  const from = startOf(offset, position, source);
  await source.use();
  if (live === 'sse') return sendEvents(source, from, query, context);
  if (live === 'long-poll') return sendNext(source, from, query, context);
  const send = (page: StreamPage) => sendPage(source, page, query, context);
  const whenFull = 'refuse';
  return streamPages(context.log).read(source, from, send, { ...context, whenFull });
}

/** Returns the headers that describe the end of a stream. */
export function positionHeaders({
  incarnation,
  tail,
  isClosed,
}: StreamPosition): Record<string, string> {
  const next = formatOffset({ at: tail, incarnation });
  return { 'stream-next-offset': next, ...(isClosed && { 'stream-closed': 'true' }) };
}

function startOf(
  offset: string | undefined,
  position: StreamPosition,
  { origins }: ReadableSource,
): number {
  if (offset === undefined || offset === '-1') return 0;
  if (offset === 'now') return position.tail;
  return resolveOffset(parseOffset(offset), { ...position, origins });
}

/** Answers with one page. */
function sendPage(
  { session, contentType }: ReadableSource,
  page: StreamPage,
  { offset = '-1', live, cursor }: ReadQuery,
  { headers: requested, clock }: Pick<RouteContext, 'headers' | 'clock'>,
): StreamReply {
  const { nextOffset } = page;
  const { isUpToDate, isClosed } = page.place;
  const isTail = offset === 'now' && live === undefined;
  const tag = createHash('sha256')
    .update([session, offset, nextOffset, isClosed].join(' '))
    .digest('base64url');
  const etag = `"${tag}"`;
  const headers: Record<string, string> = {
    'stream-next-offset': nextOffset,
    ...(isUpToDate && { 'stream-up-to-date': 'true' }),
    ...(isClosed && { 'stream-closed': 'true' }),
    ...(live === 'long-poll' && { 'stream-cursor': nextCursor(cursor, clock.now()) }),
    ...contentHeaders,
    ...(isTail ? { 'cache-control': 'no-store' } : { etag }),
  };
  const isUnchanged = !isTail && requested['if-none-match'] === etag;
  // A long poll without data has its own status.
  const isEmpty = live === 'long-poll' && page.isEmpty;
  const body = isUnchanged || isEmpty ? undefined : page.body;
  return new StreamReply(async (response) => {
    if (body === undefined) {
      response.writeHead(isUnchanged ? 304 : 204, headers);
      return void response.end();
    }
    response.writeHead(200, {
      ...{ ...headers, 'content-type': contentType, 'content-length': body.length },
    });
    response.end(body);
  });
}

/** Answers as soon as there is new data, the stream is closed, or the time for a long poll is over. */
function sendNext(
  source: ReadableSource,
  from: number,
  query: ReadQuery,
  context: RouteContext,
): StreamReply {
  const { clock, closing, limits, log, inTurn } = context;
  const turn = { inTurn, whenFull: 'wait' } as const;
  return new StreamReply(async (response) => {
    const over = new AbortController();
    const stop = () => over.abort();
    response.once('close', stop);
    closing.addEventListener('abort', stop, { once: true });
    const stopTimer = clock.after(limits.longPollTimeoutMs, stop, { isIdle: true });
    if (response.destroyed || closing.aborted) stop();
    try {
      for (;;) {
        // A page without data is the answer only if there is nothing to wait for.
        const send = (page: StreamPage) =>
          page.isEmpty && !page.place.isClosed && !over.signal.aborted
            ? page.place
            : sendPage(source, page, query, context);
        const found = await streamPages(log).read(source, from, send, turn);
        if (response.destroyed) return;
        if (found instanceof StreamReply) return await found.write(response);
        await nextRecord(source, found, over.signal, context);
      }
    } finally {
      stopTimer();
      response.off('close', stop);
      closing.removeEventListener('abort', stop);
    }
  });
}

/** Waits for the next record of the session. Resolves early if the signal is aborted. */
async function nextRecord(
  { session }: ReadableSource,
  { through: from, incarnation }: StreamPage['place'],
  signal: AbortSignal,
  { log }: Pick<RouteContext, 'log'>,
): Promise<void> {
  try {
    for await (const { records } of log.follow(session, { from, incarnation, signal }))
      if (records.length > 0) return;
  } catch (error) {
    // The stream was deleted or replaced. The next read reports it.
    if (!isMillraceError(error) || (error.code !== 'no_session' && error.code !== 'rewound'))
      throw error;
  }
}

/** Time after which the server ends a stream of events, in milliseconds. The client then continues. */
const eventStreamMs = 60_000;

/** Writes data and control events. A control event with the next offset follows each data event. */
function sendEvents(
  source: ReadableSource,
  from: number,
  query: ReadQuery,
  context: RouteContext,
): StreamReply {
  const { clock } = context;
  const { contentType } = source;
  const isText = isJsonType(contentType) || mediaType(contentType).startsWith('text/');
  return new StreamReply(async (response) => {
    const over = new AbortController();
    const stop = () => over.abort();
    response.once('close', stop);
    const stopTimer = clock.after(eventStreamMs, stop, { isIdle: true });
    response.writeHead(200, {
      ...{ ...sseHeaders, 'content-type': 'text/event-stream' },
      ...(!isText && { 'stream-sse-data-encoding': 'base64' }),
    });
    response.flushHeaders();
    try {
      await writeLines(response, eventTexts(source, from, query, { over: over.signal, context }), {
        ...{ context, line: (bytes) => bytes, errorLine: () => '' },
        heartbeat: { clock, everyMs: 15_000, text: ': ping\n' },
      });
    } finally {
      stopTimer();
      response.off('close', stop);
    }
  });
}

async function* eventTexts(
  source: ReadableSource,
  from: number,
  { cursor }: ReadQuery,
  { over, context }: { readonly over: AbortSignal; readonly context: RouteContext },
): AsyncGenerator<Buffer> {
  const { clock, log, inTurn } = context;
  let at = from;
  let isFirst = true;
  const encode = (page: StreamPage) => {
    const { place } = page;
    if (over.aborted) return { place, bytes: undefined };
    const now = clock.now();
    const own = nextCursor(cursor, now);
    if (!page.isEmpty) return { place, bytes: page.events(own, nextCursor(undefined, now)) };
    const isNews = isFirst || place.isClosed;
    return { place, bytes: isNews ? page.control(own) : undefined };
  };
  while (!over.aborted) {
    const turn = { inTurn, whenFull: 'wait' } as const;
    const { place, bytes } = await streamPages(log).read(source, at, encode, turn);
    if (bytes !== undefined) yield bytes;
    if (place.isClosed) return;
    isFirst = false;
    at = place.next;
    if (!place.isUpToDate) continue;
    await nextRecord(source, place, over, context);
    await source.use();
  }
}

const cursorEpoch = Date.UTC(2024, 9, 9);
const cursorMs = 20_000;

/**
 * Returns the cursor of a live read: the number of the current interval of 20 s. Caches use it to join equal
 * requests. A client that already has this cursor gets a later one, so that a cache cannot answer it again.
 */
function nextCursor(sent: string | undefined, now: number): string {
  const current = Math.floor((now - cursorEpoch) / cursorMs);
  const known = sent !== undefined && /^\d{1,15}$/.test(sent) ? Number(sent) : -1;
  return String(known < current ? current : known + 1 + Math.floor(Math.random() * 180));
}

/** Returns the error for a stream that was deleted while it still has forks. */
export function streamGone(): ServerError {
  return new ServerError('gone', 'Cannot use this stream: it was deleted and still has forks');
}
