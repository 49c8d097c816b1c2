import { isMillraceError } from '@millrace/core';
import type { ProviderErrorKind } from '../errors/provider-error.ts';
import type { Complaint } from '../errors/wire-fault.ts';
import { fault, WireFault } from '../errors/wire-fault.ts';
import { Interrupted, NetworkFailure } from '../transport/interrupted.ts';
import { complaintIn, complaintInData, complaintOfText } from './complaints.ts';
import { responseOf } from './response-of.ts';
import { type Thrown, thrownOf } from './thrown.ts';

/** What went wrong, and the answer it came with where there was one. */
export interface Failure {
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
