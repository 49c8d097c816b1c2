import {
  isMillraceError,
  type JsonValue,
  parseJson,
  type Stop,
  type StopReason,
} from '@millrace/core';
import type { ProviderErrorKind } from '../contract/provider-error.ts';
import { errorReportIn, errorReportOfFailure } from '../errors/error-report.ts';
import { type ErrorReport, fault, WireFault } from '../errors/wire-fault.ts';
import { Interrupted, NetworkFailure } from '../transport/failures.ts';
import { type StopReasons, stopOf } from '../wire/response-end.ts';
import type { PartOf } from './model.ts';
import { toJsonValue } from './part-state.ts';

/** What went wrong, and the answer it came with where there was one. */
interface Failure {
  readonly error: unknown;
  readonly response?: Response | undefined;
}

/**
 * What a model threw or streamed as an error. Packages put the request and what they could not read
 * into their errors, so that of these only what is named here is kept.
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

/** A mistake before there is an answer is about the request: asked again, it would be made again. */
function requestFault(thrown: ThrownError): unknown {
  const error = faultOf(thrown);
  if (!isMistake(error)) return error;
  const report = { message: 'the package cannot make a request of it', codes: [] };
  return new WireFault(report, 'invalid_request', { cause: error });
}

const isMistake = (error: unknown) => error instanceof TypeError || error instanceof RangeError;

/** Of a request that was answered with an error, or got no answer. */
function apiFault(thrown: ThrownError): unknown {
  const { status, body, data, cause, message } = thrown;
  if (status === undefined || status < 400) {
    // A connection that broke is in the cause; so is what was not readable.
    if (cause?.isFromApi) return apiFault(cause);
    if (cause !== undefined) return faultOf({ ...cause, message: cause.message || message }, true);
    const report = errorReportInData(data) ?? errorReportOfText(body || message);
    return new WireFault(report);
  }
  // An empty body is told from one that the package did not keep.
  return new WireFault(body === undefined ? errorReportOfData(thrown) : errorReportOfText(body));
}

function errorReportOfData({ data, message, type }: ThrownError): ErrorReport {
  const report = errorReportInData(data) ?? errorReportOfText(message);
  return type === undefined ? report : { ...report, codes: [...report.codes, type] };
}

/** The errors that packages throw by themselves. */
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
  // Its own message would be the data.
  if (message.startsWith('Invalid response data'))
    return fault('protocol_error', 'its data is not valid');
  if (/ended without|without a (?:finish|completion)|ended unexpectedly/i.test(message)) {
    return fault('truncated_stream', 'the last part is missing');
  }
  const kind = Object.hasOwn(kindByErrorName, name) ? kindByErrorName[name] : undefined;
  if (kind !== undefined) return fault(kind, message);
  if (isTransport || isNetwork(thrown)) {
    return new NetworkFailure(thrown.cause?.message || message, { cause: error });
  }
  // A mistake in the package, most likely over an answer that it did not expect.
  if (isMistake(error)) return error;
  const codes = [thrown.code, thrown.type, name === 'Error' ? undefined : name];
  const report = errorReportOfText(message);
  return new WireFault({
    ...report,
    codes: [...report.codes, ...codes.flatMap((code) => code ?? [])],
  });
}

/** What a package cannot read may be the provider's report, in a form that it does not know. */
function unreadableFault({ value }: ThrownError): WireFault {
  const report = value === undefined ? undefined : errorReportInData(value);
  if (report !== undefined) return new WireFault(report);
  return fault('protocol_error', 'an event is not what the package expects');
}

function isNetwork({ code, message, error }: ThrownError): boolean {
  if (/^(?:E[A-Z]{4,}|UND_ERR_\w+|ConnectionRefused|ConnectionClosed)$/.test(code ?? ''))
    return true;
  return (
    error instanceof TypeError &&
    /^(?:fetch failed|failed to fetch|load failed|terminated|network ?error)/i.test(message)
  );
}

/** The words that all packages use. */
const stopReasons: StopReasons = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_use',
  'content-filter': 'content_filter',
};

/** Words of providers that say more than the word that packages make of them. */
const exactReasons: Readonly<Record<string, StopReason>> = {
  refusal: 'refusal',
  pause_turn: 'pause',
};

/** Why it finished, as the package says it and as the provider did. */
export interface Finish {
  readonly unified: string;
  readonly raw: string | undefined;
}

export function finishOf({ finishReason }: PartOf<'finish'>): Finish {
  if (typeof finishReason === 'string') return { unified: finishReason, raw: undefined };
  return { unified: finishReason.unified, raw: finishReason.raw ?? undefined };
}

/**
 * Throws where it did not end well. Packages finish a stream that was cut off too: they call that
 * `interrupted`, or have no word of the provider's for it.
 */
export function checkFinish({ unified, raw }: Finish): void {
  const isNameless = raw === undefined && (unified === 'other' || unified === 'unknown');
  if (unified === 'interrupted' || isNameless) {
    throw fault('truncated_stream', 'no reason to stop was given');
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

/** For looking at: what JSON cannot say is nothing here. */
function jsonOrNull(value: unknown): JsonValue {
  try {
    return toJsonValue(value) ?? null;
  } catch {
    return null;
  }
}

/** An error that is a text or an object: the provider's own, as the package read it. */
function errorReportOfValue(given: unknown): ErrorReport {
  if (typeof given === 'string') return errorReportOfText(given);
  const value = jsonOrNull(given);
  return errorReportIn(value) ?? errorReportIn({ error: value }) ?? errorReportOfFailure(value, '');
}

function errorReportOfText(text: string): ErrorReport {
  const parsed = parseJson(text);
  return errorReportOfFailure(parsed.ok ? parsed.value : undefined, text);
}

/** The report that JSON from the provider is, if it is one. */
function errorReportInData(data: unknown): ErrorReport | undefined {
  return errorReportIn(jsonOrNull(data));
}

/** What an error of a package can say, whichever copy or version of the package it is from. */
interface ThrownError {
  readonly error: unknown;
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  /** What it is about, where it could not be read. */
  readonly value?: unknown;
  readonly cause?: ThrownError | undefined;
  /** It tells of a request. */
  readonly isFromApi: boolean;
  readonly status?: number | undefined;
  readonly headers?: unknown;
  readonly body?: string | undefined;
  readonly data?: unknown;
  readonly isRetryable?: boolean | undefined;
}

/** Causes of causes that are looked at: they may go round in a circle. */
const maxCauses = 4;

/** Undefined for what is no error, and so the provider's own words. */
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

/** Also one of another realm, whose class is another. */
function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}

function textOrUndefined(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The answer that an error tells of: what its status and headers say is read as of any other. */
function responseOf({ status, headers, isRetryable }: ThrownError): Response | undefined {
  if (status === undefined || status < 200 || status > 599) return undefined;
  const known = toHeaders(headers);
  const isUsuallyRetried = status === 408 || status === 409 || status === 429 || status >= 500;
  // The package's default follows the status. Where it says otherwise, the provider did.
  if (status >= 400 && isRetryable !== isUsuallyRetried && !known.has('x-should-retry')) {
    known.set('x-should-retry', String(isRetryable));
  }
  return new Response(null, { status, headers: known });
}

/** Headers as packages have them: a plain object. What is no header is left out. */
export function toHeaders(given: unknown): Headers {
  const headers = new Headers();
  const entries = typeof given === 'object' && given !== null ? Object.entries(given) : [];
  for (const [name, value] of entries) {
    try {
      if (typeof value === 'string') headers.set(name, value);
    } catch {
      // Node's fetch refuses names and values that other transports let through.
    }
  }
  return headers;
}
