import { MillraceError } from '@millrace/core';

/** What went over the wire, without its secrets: requests in the order in which they started. */
export interface Cassette {
  readonly exchanges: readonly RecordedExchange[];
  /** How many more requests there were than the recorder was to keep. */
  readonly unrecorded?: number;
}

/** One request and what became of it. All times but `startMs` count from the request's start. */
export interface RecordedExchange {
  /** From the start of the first request to the start of this one. */
  readonly startMs: number;
  readonly request: RecordedRequest;
  /** Absent where no response came: `end` says why. */
  readonly response?: RecordedResponse;
  readonly end: BodyEnd;
}

export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** There was a body, and it was too large to be kept. */
  readonly isBodyClipped?: true;
}

export interface RecordedResponse {
  readonly atMs: number;
  readonly status: number;
  readonly statusText?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly RecordedChunk[];
}

/** What one read of the body gave. */
export interface RecordedChunk {
  readonly atMs: number;
  readonly bytes: Uint8Array;
}

/** `cancelled`: by its reader or by the signal of the request. */
export const endings = ['end', 'cancelled', 'error'] as const;

export type Ending = (typeof endings)[number];

export interface BodyEnd {
  readonly atMs: number;
  readonly how: Ending;
  /** What broke it, where `how` is `error`. */
  readonly error?: RecordedError;
  /** What came after the recording had reached a limit, and was passed on but not kept. */
  readonly clipped?: Clipped;
}

export interface Clipped {
  readonly chunks: number;
  readonly bytes: number;
}

export interface RecordedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly cause?: RecordedError;
}

/** Is this all of it? Otherwise it may stop anywhere, within a secret too. */
export function isWhole({ how, clipped }: BodyEnd): boolean {
  return how === 'end' && clipped === undefined;
}

/** Bounds on what a recorder keeps. What is over them reaches the caller all the same. */
export interface CassetteLimits {
  /** The body of a request and of its response together. */
  readonly maxExchangeBytes: number;
  /** All bodies. */
  readonly maxTotalBytes: number;
  readonly maxChunksPerExchange: number;
  readonly maxExchanges: number;
}

export const defaultCassetteLimits: CassetteLimits = {
  maxExchangeBytes: 64 * 2 ** 20,
  maxTotalBytes: 128 * 2 ** 20,
  maxChunksPerExchange: 2 ** 20,
  maxExchanges: 1000,
};

/** A cassette as text, in UTF-16 units: somewhat less than the longest string that V8 can hold. */
export const maxCassetteLength: number = 2 ** 29 - 2 ** 16;

export type CassetteErrorCode =
  /** An option that cannot be: a secret of two letters, a speed of 0. */
  | 'bad_option'
  /** A cassette's text: no JSON, wrong, of a later version, without its end, too much. */
  | 'not_json'
  | 'bad_value'
  | 'unsupported_version'
  | 'unfinished'
  | 'too_large'
  /** Replay: no exchange answers this request, or none is left. */
  | 'no_match'
  | 'exhausted'
  /** Replay: its reader stopped here when it was recorded, or the recording reached its limit. */
  | 'cut'
  | 'clipped';

/** `place` has the line and field of a text, or the exchange, request, method and path of a replay. */
export class CassetteError extends MillraceError<CassetteErrorCode> {}
