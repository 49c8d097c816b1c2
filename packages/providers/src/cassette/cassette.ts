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

/**
 * One request and its outcome. All times except `startMs` are relative to the start of the request.
 */
export interface RecordedExchange {
  /** Milliseconds from the start of the first request to the start of this one. */
  readonly startMs: number;
  readonly request: RecordedRequest;
  /** The response. Absent if no response arrived, and `end` then contains the reason. */
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
 * The ways in which a body can end. `cancelled` means that the reader or the request's abort signal
 * stopped it.
 */
export const bodyEndings = ['end', 'cancelled', 'error'] as const;

/** How a recorded body ended. */
export type BodyEnding = (typeof bodyEndings)[number];

/** When and how a recorded body ended. */
export interface BodyEnd {
  readonly atMs: number;
  readonly how: BodyEnding;
  /** The error that ended the body, if `how` is `error`. */
  readonly error?: RecordedError;
  /**
   * The amount of data that arrived after the recording reached a limit. The caller received this
   * data, but it was not recorded.
   */
  readonly clipped?: ClippedContent;
}

/** The amount of data that was not recorded. */
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
 * Returns whether the recording contains the whole body. An incomplete body can end anywhere, even
 * inside a secret.
 */
export function isComplete({ how, clipped }: BodyEnd): boolean {
  return how === 'end' && clipped === undefined;
}

/**
 * Limits of a recorder. The caller still receives data beyond these limits, but it is not recorded.
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
   * The text is not a valid cassette. It is not JSON, has an invalid value or a newer version, has
   * no end, or is too long.
   */
  | 'not_json'
  | 'bad_value'
  | 'unsupported_version'
  | 'unfinished'
  | 'too_large'
  /** Replay found no exchange for the request, or all exchanges were already used. */
  | 'no_match'
  | 'exhausted'
  /** `assertUsedUp` of a replay found exchanges that answered no request. */
  | 'unused'
  /**
   * Replay reached the point where the recorded request was cancelled, or where the recording hit a
   * limit.
   */
  | 'cut'
  | 'clipped';

/**
 * Thrown if a cassette could not be read, recorded or replayed. `place` contains the line and field
 * of the text, or the exchange, request, method and path of a replay.
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
