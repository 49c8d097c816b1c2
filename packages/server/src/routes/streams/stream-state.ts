import { isUtf8 } from 'node:buffer';
import type { DraftRecord, JsonObject, LogRecord } from '@millrace/core';
import type { SessionFold } from '@millrace/log';

/** The configuration of a stream. It never changes after the creation. */
export interface StreamConfig {
  /** The path of the stream below `/streams/`, in its canonical form. */
  readonly path: string;
  readonly contentType: string;
  /** The stream expires when nobody has read or written it for this time. Default: it does not expire. */
  readonly ttlSeconds?: number | undefined;
  /** The time at which the stream expires, as the client wrote it. Default: it does not expire. */
  readonly expiresAt?: string | undefined;
  /** Present if the stream is a fork. */
  readonly fork?: StreamFork | undefined;
}

/** The source of a fork. */
interface StreamFork {
  /** The path of the source. */
  readonly from: string;
  /** The offset up to which the fork has the records of the source. */
  readonly through: number;
  /** Number of messages or bytes of the next append that the fork has too. */
  readonly part: number;
  /**
   * The incarnation of the source, and the incarnations of the streams that the source was forked from. Each
   * has the last of its offsets that is also valid in the fork (`through`).
   */
  readonly origins: readonly OffsetRange[];
}

/** The offsets of another session that are also valid in a fork. */
export interface OffsetRange {
  readonly incarnation: string;
  readonly through: number;
}

/** Identifies one append of a producer. A repeated append has the same id, epoch and number. */
export interface ProducerAppend {
  readonly id: string;
  readonly epoch: number;
  readonly seq: number;
}

/** The content of one append: messages as JSON texts, a text, or bytes in Base64. */
export type StreamData =
  | { readonly json: readonly string[] }
  | { readonly text: string }
  | { readonly base64: string };

/** The state of a stream. It is computed from the records of its session. */
export interface StreamState {
  /** Undefined if the session has no stream yet. */
  readonly config: StreamConfig | undefined;
  /** The offset of the last record with data. 0 if the stream is empty. */
  readonly tail: number;
  readonly isClosed: boolean;
  /** The last `Stream-Seq`. */
  readonly lastSeq: string | undefined;
  /** The epoch and the last number of each producer. */
  readonly producers: Readonly<Record<string, Omit<ProducerAppend, 'id'>>>;
  /** Time of the last use in milliseconds since 1970. */
  readonly usedAt: number;
  /** True if a client deleted the stream while it had forks. */
  readonly isDeleted: boolean;
  /** The paths of the forks. Some of them may not exist any more. */
  readonly forks: readonly string[];
}

const emptyState: StreamState = {
  ...{ config: undefined, tail: 0, isClosed: false, lastSeq: undefined },
  ...{ producers: {}, usedAt: 0, isDeleted: false, forks: [] },
};

/**
 * The facts of a stream. The fold of a session ignores them, so the log stores them as facts of an unknown
 * type. A fork starts with the records of its source, and `stream_created` resets the state.
 */
export type StreamFact =
  | { readonly type: 'stream_created'; readonly config: StreamConfig; readonly isClosed: boolean }
  | {
      readonly type: 'stream_appended';
      readonly data?: StreamData | undefined;
      readonly producer?: ProducerAppend | undefined;
      readonly seq?: string | undefined;
      /** True if the append closes the stream. */
      readonly closes?: true | undefined;
    }
  /** A client read the stream. It postpones the expiry. */
  | { readonly type: 'stream_used' }
  | { readonly type: 'stream_forked'; readonly into: string }
  | { readonly type: 'stream_deleted' };

/** Returns the draft of a fact. */
export function streamDraft(fact: StreamFact): DraftRecord {
  // JSON has no `undefined`, so the fields without a value are removed.
  const raw = JSON.parse(JSON.stringify(fact)) as JsonObject;
  return { turn: 0, attempt: 0, fact: { type: 'unknown', raw } };
}

/** Returns the fact of a stream in a record. Returns undefined for other records. */
function streamFact({ fact }: LogRecord): StreamFact | undefined {
  // Only `streamDraft` writes sessions of streams, so the type of the fact is known.
  return fact?.type === 'unknown' ? (fact.raw as unknown as StreamFact) : undefined;
}

/** Returns the data that a record adds to a stream. Returns undefined for records without data. */
export function dataOf(record: LogRecord): StreamData | undefined {
  const fact = streamFact(record);
  return fact?.type === 'stream_appended' ? fact.data : undefined;
}

/** The fold that computes the state of a stream. */
export const streamFold: SessionFold<StreamState> = {
  initial: emptyState,
  apply: foldStream,
  stored: { name: 'stream', version: 1 },
};

/** Returns the state of a stream after a record. */
export function foldStream(state: StreamState, record: LogRecord): StreamState {
  const fact = streamFact(record);
  const usedAt = record.time;
  switch (fact?.type) {
    case 'stream_created': {
      const { config, isClosed } = fact;
      return { ...emptyState, config, isClosed, usedAt, tail: state.tail };
    }
    case 'stream_appended': {
      const { data, producer, seq, closes } = fact;
      return {
        ...{ ...state, usedAt, lastSeq: seq ?? state.lastSeq },
        tail: data === undefined ? state.tail : record.offset,
        isClosed: state.isClosed || closes === true,
        producers: producer === undefined ? state.producers : withProducer(state, producer),
      };
    }
    case 'stream_used':
      return { ...state, usedAt };
    case 'stream_forked':
      return { ...state, forks: [...state.forks.filter((path) => path !== fact.into), fact.into] };
    case 'stream_deleted':
      return { ...state, isDeleted: true };
    default:
      return state;
  }
}

function withProducer({ producers }: StreamState, { id, epoch, seq }: ProducerAppend) {
  return { ...producers, [id]: { epoch, seq } };
}

/** Returns the state of a producer. Returns undefined if it has not written yet. */
export function producerState({ producers }: StreamState, id: string) {
  return Object.hasOwn(producers, id) ? producers[id] : undefined;
}

/** Returns the time at which a stream expires, in milliseconds since 1970. */
export function expiryOf({ config, usedAt }: StreamState): number {
  const { ttlSeconds, expiresAt } = config ?? {};
  if (expiresAt !== undefined) return Date.parse(expiresAt);
  return ttlSeconds === undefined ? Number.POSITIVE_INFINITY : usedAt + ttlSeconds * 1000;
}

/** Returns the media type without its parameters, in lower case. */
export function mediaType(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Returns whether the stream has messages of JSON, and not bytes. */
export function isJsonType(contentType: string): boolean {
  return mediaType(contentType) === 'application/json';
}

/** Converts bytes to data. Bytes that are valid UTF-8 become a text, which needs less space. */
export function bytesData(bytes: Buffer): StreamData {
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
}

/** Returns the bytes of data that is not JSON. */
export function bytesOf(data: StreamData): Buffer {
  if ('text' in data) return Buffer.from(data.text, 'utf8');
  return 'base64' in data ? Buffer.from(data.base64, 'base64') : Buffer.from(data.json.join(','));
}

/**
 * Returns the first messages or bytes of data. Returns undefined if the data has fewer messages or bytes.
 */
export function firstPart(data: StreamData, count: number): StreamData | undefined {
  if ('json' in data)
    return count > data.json.length ? undefined : { json: data.json.slice(0, count) };
  const bytes = bytesOf(data);
  return count > bytes.length ? undefined : bytesData(bytes.subarray(0, count));
}
