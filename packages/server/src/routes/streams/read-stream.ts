import { createHash } from 'node:crypto';
import { isMillraceError, type LogRecord, type SessionId } from '@millrace/core';
import { sseHeaders } from '@millrace/core/streams';
import { ServerError } from '../../contract/server-error.ts';
import { type RouteContext, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { badRequest, formatOffset, parseOffset, resolveOffset } from './request-headers.ts';
import {
  bytesOf,
  isJsonType,
  mediaType,
  type OffsetRange,
  type StreamData,
} from './stream-state.ts';

/** A stream that clients can read: records of a session, or appends of clients. */
export interface ReadableSource {
  readonly session: SessionId;
  readonly contentType: string;
  readonly origins: readonly OffsetRange[];
  /** Returns the current end of the stream. Throws if the stream does not exist any more. */
  position(): Promise<StreamPosition>;
  /** Returns the data that a record adds to the stream. */
  dataOf(record: LogRecord): StreamData | undefined;
  /** Stores that a client read the stream. */
  use(): Promise<void>;
}

/** The end of a stream. */
export interface StreamPosition {
  readonly incarnation: string;
  /** The offset of the last record of the session. */
  readonly through: number;
  /** The offset of the last record with data. 0 if the stream is empty. */
  readonly tail: number;
  readonly isClosed: boolean;
}

/** The query of a read. */
export interface ReadQuery {
  /** Undefined if the client sent none. */
  readonly offset: string | undefined;
  readonly live: string | undefined;
  readonly cursor: string | undefined;
}

/** A part of the data of a stream, which starts after an offset. */
interface Page {
  readonly data: readonly { readonly at: number; readonly data: StreamData }[];
  /** The offset of the next read. */
  readonly next: number;
  /** The offset of the last record that was read, which may have no data. */
  readonly through: number;
  readonly incarnation: string;
  readonly isUpToDate: boolean;
  /** True if the stream is closed and the client has all data. */
  readonly isClosed: boolean;
}

/** The approximate maximum size of one answer in bytes. */
const pageBytes = 2 ** 20;

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
  const page = await readPage(source, from, context);
  return sendPage(source, page, query, context);
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

async function readPage(
  source: ReadableSource,
  from: number,
  { log }: Pick<RouteContext, 'log'>,
): Promise<Page> {
  const { session } = source;
  const { incarnation, through: end, tail, isClosed } = await source.position();
  for (let at = from; ; ) {
    const batch = await log.read(session, { from: at, incarnation, maxBytes: pageBytes });
    const data = batch.records.flatMap((record) => {
      const added = source.dataOf(record);
      return added === undefined ? [] : [{ at: record.offset, data: added }];
    });
    const isUpToDate = batch.through >= end;
    if (data.length === 0 && !isUpToDate) {
      at = batch.through;
      continue;
    }
    const last = data.at(-1)?.at ?? (isUpToDate ? Math.max(tail, from) : batch.through);
    const next = isUpToDate ? last : batch.through;
    const hasAll = isUpToDate && isClosed && next >= tail;
    return {
      ...{ data, next, incarnation, isUpToDate, isClosed: hasAll },
      through: Math.max(batch.through, at),
    };
  }
}

/** Answers with one page. */
function sendPage(
  { session, contentType }: ReadableSource,
  { data, next, incarnation, isUpToDate, isClosed }: Page,
  { offset = '-1', live, cursor }: ReadQuery,
  { headers: requested, clock }: Pick<RouteContext, 'headers' | 'clock'>,
): StreamReply {
  const nextOffset = formatOffset({ at: next, incarnation });
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
  const isEmpty = live === 'long-poll' && data.length === 0;
  const body = bodyOf(
    data.map((one) => one.data),
    contentType,
  );
  return new StreamReply(async (response) => {
    if (isUnchanged || isEmpty) {
      response.writeHead(isUnchanged ? 304 : 204, headers);
      return void response.end();
    }
    response.writeHead(200, {
      ...{ ...headers, 'content-type': contentType, 'content-length': body.length },
    });
    response.end(body);
  });
}

function bodyOf(data: readonly StreamData[], contentType: string): Buffer {
  if (!isJsonType(contentType)) return Buffer.concat(data.map(bytesOf));
  return Buffer.from(`[${data.map((one) => bytesOf(one).toString('utf8')).join(',')}]`);
}

/** Answers as soon as there is new data, the stream is closed, or the time for a long poll is over. */
function sendNext(
  source: ReadableSource,
  from: number,
  query: ReadQuery,
  context: RouteContext,
): StreamReply {
  const { clock, closing, limits } = context;
  return new StreamReply(async (response) => {
    const over = new AbortController();
    const stop = () => over.abort();
    response.once('close', stop);
    closing.addEventListener('abort', stop, { once: true });
    const stopTimer = clock.after(limits.longPollTimeoutMs, stop, { isIdle: true });
    if (response.destroyed || closing.aborted) stop();
    try {
      let page = await readPage(source, from, context);
      while (page.data.length === 0 && !page.isClosed && !over.signal.aborted) {
        await nextRecord(source, page, over.signal, context);
        page = await readPage(source, from, context);
      }
      if (response.destroyed) return;
      await sendPage(source, page, query, context).write(response);
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
  { through: from, incarnation }: Pick<Page, 'through' | 'incarnation'>,
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
        ...{ context, line: (text) => text, errorLine: () => '' },
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
): AsyncGenerator<string> {
  const { contentType } = source;
  const control = (at: number, { incarnation, isUpToDate, isClosed }: Page) => {
    const end = isClosed
      ? { streamClosed: true }
      : {
          streamCursor: nextCursor(cursor, context.clock.now()),
          ...(isUpToDate && { upToDate: true }),
        };
    const data = { streamNextOffset: formatOffset({ at, incarnation }), ...end };
    return encodeEvent('control', JSON.stringify(data));
  };
  let at = from;
  let isFirst = true;
  while (!over.aborted) {
    const page = await readPage(source, at, context);
    const last = page.data.at(-1);
    for (const one of page.data) {
      const state = one === last ? page : { ...page, isUpToDate: false, isClosed: false };
      const data = encodeEvent('data', eventData(one.data, contentType));
      yield data + control(one === last ? page.next : one.at, state);
    }
    if (last === undefined && (isFirst || page.isClosed)) yield control(page.next, page);
    if (page.isClosed) return;
    isFirst = false;
    at = page.next;
    if (!page.isUpToDate) continue;
    await nextRecord(source, page, over, context);
    await source.use();
  }
}

/** Encodes an event. The protocol has no space after `data:`, which keeps spaces at the start of a line. */
function encodeEvent(event: string, data: string): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data:${line}\n`);
  return `event: ${event}\n${lines.join('')}\n`;
}

function eventData(data: StreamData, contentType: string): string {
  if (isJsonType(contentType)) return `[${bytesOf(data).toString('utf8')}]`;
  const bytes = bytesOf(data);
  return bytes.toString(mediaType(contentType).startsWith('text/') ? 'utf8' : 'base64');
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
