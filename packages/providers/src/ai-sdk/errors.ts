import {
  isMillraceError,
  type JsonValue,
  parseJson,
  type Stop,
  type StopReason,
} from '@millrace/core';
import type { ProviderErrorKind } from '../contract/provider-error.ts';
import { complaintOf, complaintOfFailure } from '../errors/complaint.ts';
import { type Complaint, fault, WireFault } from '../errors/wire-fault.ts';
import { Interrupted, NetworkFailure } from '../transport/failures.ts';
import { type StopWords, stopOf } from '../wire/response-end.ts';
import type { PartOf } from './model.ts';
import { asJson } from './part-state.ts';

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
  if (isOurs(given)) return { error: given };
  const thrown = thrownOf(given);
  if (thrown === undefined) return { error: new WireFault(complaintIn(given)) };
  if (!thrown.isFromApi) return { error: isAnswered ? faultOf(thrown) : askingFault(thrown) };
  return { error: apiFault(thrown), response: responseOf(thrown) };
}

const isOurs = (error: unknown) =>
  isMillraceError(error) ||
  [Interrupted, NetworkFailure, WireFault].some((Ours) => error instanceof Ours);

/** A mistake before there is an answer is about the request: asked again, it would be made again. */
function askingFault(thrown: Thrown): unknown {
  const error = faultOf(thrown);
  if (!isMistake(error)) return error;
  const complaint = { message: 'the package cannot make a request of it', words: [] };
  return new WireFault(complaint, 'invalid_request', { cause: error });
}

const isMistake = (error: unknown) => error instanceof TypeError || error instanceof RangeError;

/** Of a request that was answered with an error, or got no answer. */
function apiFault(thrown: Thrown): unknown {
  const { status, body, data, cause, message } = thrown;
  if (status === undefined || status < 400) {
    // A connection that broke is in the cause; so is what was not readable.
    if (cause?.isFromApi) return apiFault(cause);
    if (cause !== undefined) return faultOf({ ...cause, message: cause.message || message }, true);
    const complaint = complaintInData(data) ?? complaintOfText(body || message);
    return new WireFault(complaint);
  }
  // An empty body is told from one that the package did not keep.
  return new WireFault(body === undefined ? complaintOfData(thrown) : complaintOfText(body));
}

function complaintOfData({ data, message, type }: Thrown): Complaint {
  const complaint = complaintInData(data) ?? complaintOfText(message);
  return type === undefined ? complaint : { ...complaint, words: [...complaint.words, type] };
}

/** The errors that packages throw by themselves. */
const kinds: Readonly<Record<string, ProviderErrorKind>> = {
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

function faultOf(thrown: Thrown, isTransport = false): unknown {
  const { name, message, error } = thrown;
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError') return unreadable(thrown);
  // Its own message would be the data.
  if (message.startsWith('Invalid response data'))
    return fault('protocol_error', 'its data is not valid');
  if (/ended without|without a (?:finish|completion)|ended unexpectedly/i.test(message)) {
    return fault('truncated_stream', 'the last part is missing');
  }
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind !== undefined) return fault(kind, message);
  if (isTransport || isNetwork(thrown)) {
    return new NetworkFailure(thrown.cause?.message || message, { cause: error });
  }
  // A mistake in the package, most likely over an answer that it did not expect.
  if (isMistake(error)) return error;
  const words = [thrown.code, thrown.type, name === 'Error' ? undefined : name];
  const complaint = complaintOfText(message);
  return new WireFault({
    ...complaint,
    words: [...complaint.words, ...words.flatMap((word) => word ?? [])],
  });
}

/** What a package cannot read may be the provider's complaint, in a form that it does not know. */
function unreadable({ value }: Thrown): WireFault {
  const complaint = value === undefined ? undefined : complaintInData(value);
  if (complaint !== undefined) return new WireFault(complaint);
  return fault('protocol_error', 'an event is not what the package expects');
}

function isNetwork({ code, message, error }: Thrown): boolean {
  if (/^(?:E[A-Z]{4,}|UND_ERR_\w+|ConnectionRefused|ConnectionClosed)$/.test(code ?? ''))
    return true;
  return (
    error instanceof TypeError &&
    /^(?:fetch failed|failed to fetch|load failed|terminated|network ?error)/i.test(message)
  );
}

/** The words that all packages use. */
const unifiedWords: StopWords = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_use',
  'content-filter': 'content_filter',
};

/** Words of providers that say more than the word that packages make of them. */
const exactWords: Readonly<Record<string, StopReason>> = {
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
export function assertEnded({ unified, raw }: Finish): void {
  const isNameless = raw === undefined && (unified === 'other' || unified === 'unknown');
  if (unified === 'interrupted' || isNameless) {
    throw fault('truncated_stream', 'no reason to stop was given');
  }
  if (unified !== 'error') return;
  const words = raw === undefined ? [] : [raw];
  throw new WireFault({ message: `it stopped with ${raw ?? 'an error'}`, words });
}

export function stopOfFinish({ unified, raw }: Finish, hasClientCalls: boolean): Stop {
  const exact = raw !== undefined && Object.hasOwn(exactWords, raw) ? exactWords[raw] : undefined;
  if (raw !== undefined && exact !== undefined) return { reason: exact, raw };
  return { ...stopOf(unified, unifiedWords, hasClientCalls), raw: raw ?? unified };
}

/** For looking at: what JSON cannot say is nothing here. */
function jsonOf(value: unknown): JsonValue {
  try {
    return asJson(value) ?? null;
  } catch {
    return null;
  }
}

/** An error that is a text or an object: the provider's own, as the package read it. */
function complaintIn(given: unknown): Complaint {
  if (typeof given === 'string') return complaintOfText(given);
  const value = jsonOf(given);
  return complaintOf(value) ?? complaintOf({ error: value }) ?? complaintOfFailure(value, '');
}

function complaintOfText(text: string): Complaint {
  const parsed = parseJson(text);
  return complaintOfFailure(parsed.ok ? parsed.value : undefined, text);
}

/** The complaint that JSON from the provider is, if it is one. */
function complaintInData(data: unknown): Complaint | undefined {
  return complaintOf(jsonOf(data));
}

/** What an error of a package can say, whichever copy or version of the package it is from. */
interface Thrown {
  readonly error: unknown;
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  /** What it is about, where it could not be read. */
  readonly value?: unknown;
  readonly cause?: Thrown | undefined;
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
function thrownOf(error: unknown, causes: number = maxCauses): Thrown | undefined {
  if (!isError(error)) return undefined;
  const field = (name: string): unknown => Reflect.get(error, name);
  const status = field('statusCode');
  return {
    error,
    name: error.name,
    message: error.message,
    code: textOf(field('code')),
    type: textOf(field('type')),
    value: field('value'),
    cause: causes === 0 ? undefined : thrownOf(error.cause, causes - 1),
    isFromApi: error.name === 'AI_APICallError' || typeof status === 'number',
    status: typeof status === 'number' ? status : undefined,
    headers: field('responseHeaders'),
    body: textOf(field('responseBody')),
    data: field('data'),
    isRetryable: field('isRetryable') === true,
  };
}

/** Also one of another realm, whose class is another. */
function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The answer that an error tells of: what its status and headers say is read as of any other. */
function responseOf({ status, headers, isRetryable }: Thrown): Response | undefined {
  if (status === undefined || status < 200 || status > 599) return undefined;
  const known = headersOf(headers);
  const isUsuallyRetried = status === 408 || status === 409 || status === 429 || status >= 500;
  // The package's default follows the status. Where it says otherwise, the provider did.
  if (status >= 400 && isRetryable !== isUsuallyRetried && !known.has('x-should-retry')) {
    known.set('x-should-retry', String(isRetryable));
  }
  return new Response(null, { status, headers: known });
}

/** Headers as packages have them: a plain object. What is no header is left out. */
export function headersOf(given: unknown): Headers {
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
