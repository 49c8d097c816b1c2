import { assertOptionNames, MillraceError, type OptionNames } from '@millrace/core';

/**
 * Recorded HTTP traffic without secrets. The exchanges are in the order in which their requests
 * started.
 */
export interface Cassette {
  readonly exchanges: readonly RecordedExchange[];
  /** Number of requests that were not recorded because the recorder reached its limit. */
  readonly unrecorded?: number;
}

/** One request and its outcome. All times except `startMs` are relative to the start of this request. */
export interface RecordedExchange {
  /** Milliseconds between the start of the first request and the start of this request. */
  readonly startMs: number;
  readonly request: RecordedRequest;
  /** The response. Missing if no response arrived. In this case, `end` contains the reason. */
  readonly response?: RecordedResponse;
  readonly end: BodyEnd;
}

/** A recorded request without secrets. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** True if the request had a body that was too large to record. */
  readonly isBodyClipped?: true;
}

/** A recorded response: its head and its chunks. */
export interface RecordedResponse {
  readonly atMs: number;
  readonly status: number;
  readonly statusText?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly RecordedChunk[];
}

/** The bytes that one read of the body returned. */
export interface RecordedChunk {
  readonly atMs: number;
  readonly bytes: Uint8Array;
}

/**
 * The ways in which a body can end. `cancelled` means that the reader or the request's abort signal stopped
 * the body.
 */
export const bodyEndings = ['end', 'cancelled', 'error'] as const;

/** The way in which a recorded body ended. */
export type BodyEnding = (typeof bodyEndings)[number];

/** The end of a recorded body: its time and its kind. */
export interface BodyEnd {
  readonly atMs: number;
  readonly how: BodyEnding;
  /** The error that ended the body, if `how` is `error`. */
  readonly error?: RecordedError;
  /**
   * The amount of data that arrived after the recording reached a limit. The caller received this data, but
   * the recording does not contain it.
   */
  readonly clipped?: ClippedContent;
}

/** The amount of data that the recording does not contain. */
export interface ClippedContent {
  readonly chunks: number;
  readonly bytes: number;
}

/** A recorded error with its causes, up to three levels. */
export interface RecordedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly cause?: RecordedError;
}

/**
 * Returns whether the recording contains the whole body. An incomplete body can end at any position, even
 * inside a secret.
 */
export function isComplete({ how, clipped }: BodyEnd): boolean {
  return how === 'end' && clipped === undefined;
}

/**
 * Limits of a recorder. The caller still receives data beyond these limits, but the recorder does not record
 * it.
 */
export interface CassetteLimits {
  /** Maximum size of one request body and its response body together. Default: 64 MiB. */
  readonly maxExchangeBytes: number;
  /** Maximum size of all bodies together. Default: 128 MiB. */
  readonly maxTotalBytes: number;
  /** Maximum number of response chunks in one exchange. Default: 2^20. */
  readonly maxChunksPerExchange: number;
  /** Maximum number of recorded requests. Default: 1000. */
  readonly maxExchanges: number;
}

/** The limits that apply if an option is not set. */
export const defaultCassetteLimits: CassetteLimits = {
  maxExchangeBytes: 64 * 2 ** 20,
  maxTotalBytes: 128 * 2 ** 20,
  maxChunksPerExchange: 2 ** 20,
  maxExchanges: 1000,
};

/**
 * Maximum length of an encoded cassette in UTF-16 units. It is slightly below the longest string
 * that V8 supports.
 */
export const maxCassetteLength: number = 2 ** 29 - 2 ** 16;

/** Codes of a `CassetteError`. */
export type CassetteErrorCode =
  /** An option has an invalid value, for example a secret of two letters or a speed of 0. */
  | 'bad_option'
  /**
   * The text is not a valid cassette. It is not JSON, it has an invalid value, it has a newer version, it has
   * no end, or it is too long.
   */
  | 'not_json'
  | 'bad_value'
  | 'unsupported_version'
  | 'unfinished'
  | 'too_large'
  /** The replay found no exchange for the request, or all matching exchanges were already used. */
  | 'no_match'
  | 'exhausted'
  /** `assertUsedUp` of a replay found exchanges that did not answer any request. */
  | 'unused'
  /**
   * The replay reached the point at which the recorded request was cancelled, or at which the recording
   * reached a limit.
   */
  | 'cut'
  | 'clipped';

/**
 * Thrown if a cassette could not be read, recorded or replayed. For a text, `place` contains the line and
 * field. For a replay, it contains the exchange, request, method and path.
 */
export class CassetteError extends MillraceError<CassetteErrorCode> {}

/** Throws `bad_option` if the options are not an object, or have an unknown name. */
export function assertCassetteOptions<Options extends object>(
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message, option) => {
    return new CassetteError('bad_option', message, { path: option });
  });
}
