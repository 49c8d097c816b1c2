import type { LogRecord, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { RouteContext } from '../../http/route.ts';
import { formatOffset } from './request-headers.ts';
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

/** How far a stream reaches now: its newest offsets, and whether it is closed. */
export interface StreamPosition {
  readonly incarnation: string;
  /** The offset of the last record of the session. */
  readonly through: number;
  /** The offset of the last record with data. 0 if the stream is empty. */
  readonly tail: number;
  readonly isClosed: boolean;
}

/** The approximate maximum size of one answer in bytes. */
const pageBytes = 2 ** 20;

/** Maximum number of shared pages, and of the bytes in them. */
const sharedLimits = { pages: 64, bytes: 32 * 2 ** 20 };

const pagesOf = new WeakMap<Log, StreamPages>();

/** Returns the pages of the streams of a log. All readers in the process share them. */
export function streamPages(log: Log): StreamPages {
  const known = pagesOf.get(log) ?? new StreamPages(log);
  pagesOf.set(log, known);
  return known;
}

/**
 * Reads pages of streams. An append wakes all readers of a stream at the same time, and all of them need the
 * same page. The first of them reads and encodes the page, and those that wait at this time share its bytes. A
 * later reader does not get this page, because the records of a session can be rewritten in between.
 */
export class StreamPages {
  readonly #log: Log;
  /** The pages that waiting readers can share, the oldest first. */
  readonly #shared = new Map<string, { readonly madeAt: number; readonly page: StreamPage }>();
  /** Counts the reads, to compare their order. */
  #time = 0;
  #waiting = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Reads the page after an offset when it is the turn of the reader. `encode` returns what the reader sends.
   */
  async read<T>(
    source: ReadableSource,
    from: number,
    encode: (page: StreamPage) => T,
    { inTurn, whenFull }: Pick<RouteContext, 'inTurn'> & { readonly whenFull: 'refuse' | 'wait' },
  ): Promise<T> {
    const askedAt = ++this.#time;
    this.#waiting++;
    try {
      return await inTurn(async () => {
        const page = await this.#find(source, from, askedAt);
        const encoded = encode(page);
        this.#trim();
        return encoded;
      }, whenFull);
    } finally {
      if (--this.#waiting === 0) this.#shared.clear();
    }
  }

  async #find(source: ReadableSource, from: number, askedAt: number): Promise<StreamPage> {
    const position = await source.position();
    const { incarnation, through, tail, isClosed } = position;
    const key = JSON.stringify([source.session, incarnation, from, through, tail, isClosed]);
    const known = this.#shared.get(key);
    if (known !== undefined && known.madeAt >= askedAt) return known.page;
    const madeAt = ++this.#time;
    const page = await readPage(this.#log, source, from, position);
    this.#shared.delete(key);
    this.#shared.set(key, { madeAt, page });
    return page;
  }

  #trim(): void {
    const shared = [...this.#shared];
    let bytes = shared.reduce((sum, [, { page }]) => sum + page.size, 0);
    for (const [key, { page }] of shared) {
      if (this.#shared.size <= sharedLimits.pages && bytes <= sharedLimits.bytes) return;
      this.#shared.delete(key);
      bytes -= page.size;
    }
  }
}

async function readPage(
  log: Log,
  source: ReadableSource,
  from: number,
  { incarnation, through: end, tail, isClosed }: StreamPosition,
): Promise<StreamPage> {
  const { session, contentType } = source;
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
    const through = Math.max(batch.through, at);
    const place = { next, through, incarnation, isUpToDate, isClosed: hasAll };
    return new StreamPage(data, contentType, place);
  }
}

interface PagePlace {
  /** The offset of the next read. */
  readonly next: number;
  /** The offset of the last record that was read, which may have no data. */
  readonly through: number;
  readonly incarnation: string;
  readonly isUpToDate: boolean;
  /** True if the stream is closed and the client has all data. */
  readonly isClosed: boolean;
}

/** A part of the data of a stream, which starts after an offset. It encodes its data only once. */
export class StreamPage {
  readonly place: PagePlace;
  readonly #items: readonly { readonly at: number; readonly bytes: Buffer }[];
  readonly #contentType: string;
  /** The number of bytes in the data and in its events. */
  #size: number;
  #body: Buffer | undefined;
  /** The data events of the page, each with its `event:` line. */
  #events: readonly Buffer[] | undefined;
  /** The events for the cursor that most readers get. */
  #complete: { readonly cursor: string; readonly bytes: Buffer } | undefined;

  constructor(
    data: readonly { readonly at: number; readonly data: StreamData }[],
    contentType: string,
    place: PagePlace,
  ) {
    this.#items = data.map((one) => ({ at: one.at, bytes: bytesOf(one.data) }));
    this.#size = totalLength(this.#items.map(({ bytes }) => bytes));
    this.#contentType = contentType;
    this.place = place;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  get nextOffset(): string {
    const { next: at, incarnation } = this.place;
    return formatOffset({ at, incarnation });
  }

  /** The number of bytes that the page keeps in memory. */
  get size(): number {
    return this.#size + (this.#body?.length ?? 0) + (this.#complete?.bytes.length ?? 0);
  }

  /** The data as the body of an answer. */
  get body(): Buffer {
    this.#body ??= this.#joined();
    return this.#body;
  }

  #joined(): Buffer {
    const all = this.#items.map(({ bytes }) => bytes);
    if (!isJsonType(this.#contentType)) return Buffer.concat(all);
    const [comma, open, close] = [Buffer.from(','), Buffer.from('['), Buffer.from(']')];
    const listed = all.flatMap((bytes, at) => (at === 0 ? [bytes] : [comma, bytes]));
    return Buffer.concat([open, ...listed, close]);
  }

  /**
   * The data as server-sent events. A control event with the next offset follows each data event. Readers with
   * the cursor `common` share the bytes.
   */
  events(cursor: string, common: string): Buffer {
    if (cursor === this.#complete?.cursor) return this.#complete.bytes;
    const last = this.#items.length - 1;
    const parts = this.#dataEvents().flatMap((event, index) => {
      if (index === last) return [event, this.control(cursor)];
      const place = { ...this.place, isUpToDate: false, isClosed: false };
      const next = this.#items[index]?.at ?? place.next;
      return [event, controlEvent({ ...place, next }, cursor)];
    });
    const bytes = Buffer.concat(parts);
    if (cursor === common) this.#complete = { cursor, bytes };
    return bytes;
  }

  /** The control event at the end of the page. */
  control(cursor: string): Buffer {
    return controlEvent(this.place, cursor);
  }

  #dataEvents(): readonly Buffer[] {
    if (this.#events !== undefined) return this.#events;
    const events = this.#items.map(({ bytes }) => encodeEvent('data', this.#eventData(bytes)));
    this.#size += totalLength(events);
    this.#events = events;
    return events;
  }

  #eventData(bytes: Buffer): Buffer {
    if (isJsonType(this.#contentType)) return Buffer.from(`[${bytes.toString('utf8')}]`);
    // Bytes of a text that are not UTF-8 become replacement characters.
    const isText = mediaType(this.#contentType).startsWith('text/');
    return Buffer.from(bytes.toString(isText ? 'utf8' : 'base64'));
  }
}

function totalLength(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function controlEvent(
  { next: at, incarnation, isUpToDate, isClosed }: PagePlace,
  streamCursor: string,
): Buffer {
  const end = isClosed
    ? { streamClosed: true }
    : { streamCursor, ...(isUpToDate && { upToDate: true }) };
  const data = { streamNextOffset: formatOffset({ at, incarnation }), ...end };
  return encodeEvent('control', Buffer.from(JSON.stringify(data)));
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];
const lineStart = Buffer.from('data:');

/**
 * Encodes an event. The protocol has no space after `data:`, which keeps spaces at the start of a line. A
 * megabyte can have a million lines, so the lines are copied without a text for each of them.
 */
function encodeEvent(event: string, data: Buffer): Buffer {
  const head = Buffer.from(`event: ${event}\n`);
  let lines = 1;
  for (let at = 0; at < data.length; at++) if (isLineEnd(data, at)) lines++;
  const encoded = Buffer.allocUnsafe(
    head.length + data.length + lines * (lineStart.length + 1) + 1,
  );
  let end = head.copy(encoded);
  end += lineStart.copy(encoded, end);
  for (let at = 0; at < data.length; at++) {
    const byte = data[at] ?? 0;
    if (isLineEnd(data, at)) {
      encoded[end++] = lineFeed;
      for (let index = 0; index < lineStart.length; index++) encoded[end++] = lineStart[index] ?? 0;
    } else if (byte !== lineFeed) encoded[end++] = byte;
  }
  encoded[end++] = lineFeed;
  encoded[end++] = lineFeed;
  return encoded.subarray(0, end);
}

/** Returns whether a line ends at a byte. `\r\n` ends one line, at its first byte. */
function isLineEnd(data: Buffer, at: number): boolean {
  const byte = data[at];
  if (byte === carriageReturn) return true;
  return byte === lineFeed && data[at - 1] !== carriageReturn;
}
