import {
  isMillraceError,
  type JsonValue,
  parseJson,
  type Stop,
  type StopReason,
} from '@millrace/core';
import type { ProviderErrorKind } from '../contract/provider-error.ts';
import { errorReportIn, errorReportOfFailure } from '../errors/error-report.ts';
import { type ErrorReport, fault, faultBy, WireFault } from '../errors/wire-fault.ts';
import { Interrupted, NetworkFailure } from '../transport/failures.ts';
import { type StopReasons, stopOf } from '../wire/response-end.ts';
import type { PartOf } from './model.ts';
import { toJsonValue } from './part-state.ts';

/** An error, with the HTTP response that contained it, if there was one. */
interface Failure {
  readonly error: unknown;
  readonly response?: Response | undefined;
}

/**
 * Converts an error that a package threw or streamed. Errors of packages can contain the request and
 * unreadable data. The result therefore contains only the fields that this function reads.
 */
export function failureOf(given: unknown, isAnswered: boolean): Failure {
  if (isOwnError(given)) return { error: given };
  const thrown = readThrownError(given);
  if (thrown === undefined) return { error: new WireFault(errorReportOfValue(given)) };
  if (!thrown.isFromApi) return { error: isAnswered ? faultOf(thrown) : requestFault(thrown) };
  return { error: apiFault(thrown), response: responseOf(thrown) };
}

const isOwnError = (error: unknown) =>
  isMillraceError(error) ||
  [Interrupted, NetworkFailure, WireFault].some((Ours) => error instanceof Ours);

/**
 * Returns the error of a call that failed before the response. A TypeError or RangeError means that the
 * package could not use the request, so a retry would fail in the same way.
 */
function requestFault(thrown: ThrownError): unknown {
  const error = faultOf(thrown);
  if (!isMistake(error)) return error;
  return faultBy(error, 'invalid_request', 'the package cannot build a request from it');
}

const isMistake = (error: unknown) => error instanceof TypeError || error instanceof RangeError;

/** Returns the error of a request that got an error response or no response. */
function apiFault(thrown: ThrownError): unknown {
  const { status, body, data, cause, message } = thrown;
  if (status === undefined || status < 400) {
    // The cause is the broken connection, or it describes the unreadable data.
    if (cause?.isFromApi) return apiFault(cause);
    if (cause !== undefined) return faultOf({ ...cause, message: cause.message || message }, true);
    const report = errorReportInData(data) ?? errorReportOfText(body || message);
    return new WireFault(report);
  }
  // `body` is undefined only if the package did not keep the response body. An empty body is read as text.
  return new WireFault(body === undefined ? errorReportOfData(thrown) : errorReportOfText(body));
}

function errorReportOfData({ data, message, type }: ThrownError): ErrorReport {
  const report = errorReportInData(data) ?? errorReportOfText(message);
  return type === undefined ? report : { ...report, codes: [...report.codes, type] };
}

/** The kind of each error that packages create themselves, by error name. */
const kindByErrorName: Readonly<Record<string, ProviderErrorKind>> = {
  AI_LoadAPIKeyError: 'auth',
  AI_LoadSettingError: 'invalid_request',
  AI_NoSuchModelError: 'invalid_request',
  AI_InvalidPromptError: 'invalid_request',
  AI_InvalidArgumentError: 'invalid_request',
  AI_UnsupportedFunctionalityError: 'invalid_request',
  AI_EmptyResponseBodyError: 'truncated_stream',
  AI_NoContentGeneratedError: 'truncated_stream',
  AI_InvalidResponseDataError: 'protocol_error',
  TimeoutError: 'timeout',
};

function faultOf(thrown: ThrownError, isTransport = false): unknown {
  const { name, message, error } = thrown;
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError')
    return unreadableFault(thrown);
  // The message of this error quotes the data. The data may be private, so the message is replaced.
  if (message.startsWith('Invalid response data'))
    return fault('protocol_error', 'the response data is invalid');
  if (/ended without|without a (?:finish|completion)|ended unexpectedly/i.test(message)) {
    return fault('truncated_stream', 'the last part is missing');
  }
  const kind = Object.hasOwn(kindByErrorName, name) ? kindByErrorName[name] : undefined;
  if (kind !== undefined) return fault(kind, message);
  if (isTransport || isNetwork(thrown)) {
    return new NetworkFailure(thrown.cause?.message || message, { cause: error });
  }
  // The error is a bug in the package. An unexpected response is the likely cause.
  if (isMistake(error)) return error;
  const codes = [thrown.code, thrown.type, name === 'Error' ? undefined : name];
  const report = errorReportOfText(message);
  return new WireFault({
    ...report,
    codes: [...report.codes, ...codes.flatMap((code) => code ?? [])],
  });
}

/**
 * Returns the error for data that a package could not read. The data may be an error of the provider in a
 * format that the package does not support.
 */
function unreadableFault({ value }: ThrownError): WireFault {
  const report = value === undefined ? undefined : errorReportInData(value);
  if (report !== undefined) return new WireFault(report);
  return fault('protocol_error', 'an event does not have the format that the package expects');
}

function isNetwork({ code, message, error }: ThrownError): boolean {
  if (/^(?:E[A-Z]{4,}|UND_ERR_\w+|ConnectionRefused|ConnectionClosed)$/.test(code ?? ''))
    return true;
  return (
    error instanceof TypeError &&
    /^(?:fetch failed|failed to fetch|load failed|terminated|network ?error)/i.test(message)
  );
}

/** Maps the finish reasons that are common to all packages. */
const stopReasons: StopReasons = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_use',
  'content-filter': 'content_filter',
};

/** Maps the provider's own finish reasons that are more precise than the package's unified reason. */
const exactReasons: Readonly<Record<string, StopReason>> = {
  refusal: 'refusal',
  pause_turn: 'pause',
};

/** The unified finish reason of the package, and the original reason of the provider. */
export interface Finish {
  readonly unified: string;
  readonly raw: string | undefined;
}

export function finishOf({ finishReason }: PartOf<'finish'>): Finish {
  if (typeof finishReason === 'string') return { unified: finishReason, raw: undefined };
  return { unified: finishReason.unified, raw: finishReason.raw ?? undefined };
}

/**
 * Throws if the response did not end normally. Packages also finish a stream that was cut off. In this case
 * they report `interrupted`, or omit the provider's reason.
 */
export function checkFinish({ unified, raw }: Finish): void {
  const isNameless = raw === undefined && (unified === 'other' || unified === 'unknown');
  if (unified === 'interrupted' || isNameless) {
    throw fault('truncated_stream', 'there is no finish reason');
  }
  if (unified !== 'error') return;
  const codes = raw === undefined ? [] : [raw];
  throw new WireFault({ message: `it stopped with ${raw ?? 'an error'}`, codes });
}

export function stopOfFinish({ unified, raw }: Finish, hasClientCalls: boolean): Stop {
  const exact =
    raw !== undefined && Object.hasOwn(exactReasons, raw) ? exactReasons[raw] : undefined;
  if (raw !== undefined && exact !== undefined) return { reason: exact, raw };
  return { ...stopOf(unified, stopReasons, hasClientCalls), raw: raw ?? unified };
}

/** Converts a value to JSON. Returns null for values that JSON cannot represent. */
function jsonOrNull(value: unknown): JsonValue {
  try {
    return toJsonValue(value) ?? null;
  } catch {
    return null;
  }
}

/**
 * Returns the report of an error that is a string or a plain object. Such a value is the provider's error, as
 * the package read it.
 */
function errorReportOfValue(given: unknown): ErrorReport {
  if (typeof given === 'string') return errorReportOfText(given);
  const value = jsonOrNull(given);
  return errorReportIn(value) ?? errorReportIn({ error: value }) ?? errorReportOfFailure(value, '');
}

function errorReportOfText(text: string): ErrorReport {
  const parsed = parseJson(text);
  return errorReportOfFailure(parsed.ok ? parsed.value : undefined, text);
}

/** Returns the error report that the provider's JSON contains, or undefined if there is none. */
function errorReportInData(data: unknown): ErrorReport | undefined {
  return errorReportIn(jsonOrNull(data));
}

/**
 * The fields of an error that a package threw. They are read by name and not through the package's error
 * classes, because a program can have several copies or versions of a package.
 */
interface ThrownError {
  readonly error: unknown;
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  /** The value that the package could not read. */
  readonly value?: unknown;
  readonly cause?: ThrownError | undefined;
  /** True if an HTTP request caused the error. */
  readonly isFromApi: boolean;
  readonly status?: number | undefined;
  readonly headers?: unknown;
  readonly body?: string | undefined;
  readonly data?: unknown;
  readonly isRetryable?: boolean | undefined;
}

/** Maximum number of nested causes that are read. The limit is needed because causes can form a cycle. */
const maxCauses = 4;

/**
 * Reads an error that a package threw. Returns undefined for a value that is not an Error object. Such a
 * value is the provider's own error, which the package passed on unchanged.
 */
function readThrownError(error: unknown, causes: number = maxCauses): ThrownError | undefined {
  if (!isError(error)) return undefined;
  const field = (name: string): unknown => Reflect.get(error, name);
  const status = field('statusCode');
  return {
    error,
    name: error.name,
    message: error.message,
    code: textOrUndefined(field('code')),
    type: textOrUndefined(field('type')),
    value: field('value'),
    cause: causes === 0 ? undefined : readThrownError(error.cause, causes - 1),
    isFromApi: error.name === 'AI_APICallError' || typeof status === 'number',
    status: typeof status === 'number' ? status : undefined,
    headers: field('responseHeaders'),
    body: textOrUndefined(field('responseBody')),
    data: field('data'),
    isRetryable: field('isRetryable') === true,
  };
}

/** Returns whether a value is an Error, including an Error from a different JavaScript realm. */
function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}

function textOrUndefined(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * Creates a response with the status and headers that an error contains. The rest of the code can then read
 * them like those of any response.
 */
function responseOf({ status, headers, isRetryable }: ThrownError): Response | undefined {
  if (status === undefined || status < 200 || status > 599) return undefined;
  const known = toHeaders(headers);
  const isUsuallyRetried = status === 408 || status === 409 || status === 429 || status >= 500;
  // By default, the package derives `isRetryable` from the status. If the value differs, it comes from the
  // provider.
  if (status >= 400 && isRetryable !== isUsuallyRetried && !known.has('x-should-retry')) {
    known.set('x-should-retry', String(isRetryable));
  }
  return new Response(null, { status, headers: known });
}

/** Converts a plain object to headers. Invalid headers are omitted. */
export function toHeaders(given: unknown): Headers {
  const headers = new Headers();
  const entries = typeof given === 'object' && given !== null ? Object.entries(given) : [];
  for (const [name, value] of entries) {
    try {
      if (typeof value === 'string') headers.set(name, value);
    } catch {
      // The class `Headers` of Node rejects some names and values that other transports accept. These headers
      // are skipped.
    }
  }
  return headers;
}
