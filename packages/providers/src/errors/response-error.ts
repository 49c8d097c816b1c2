import { ProviderError } from '../contract/provider-error.ts';
import type { Clock } from '../transport/clock.ts';
import { Interrupted } from '../transport/failures.ts';
import type { HttpExchange } from '../transport/http-exchange.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { bodyLength } from '../wire/response-end.ts';
import type { WireFault } from './wire-fault.ts';

/** The data about a request and its response from which an error is built. */
export interface FailedExchange {
  readonly provider: string;
  readonly clock: Clock;
  /** The request, if it was built. */
  http?: HttpRequest | undefined;
  /** The response, if there was one. */
  response?: Response | undefined;
}

/**
 * Returns the error for the failure or abort that ended a response. The code that classifies errors loads on
 * demand, because most runs have no error. An abort does not need that code.
 */
export async function responseError(
  exchanged: FailedExchange,
  thrown: unknown,
  signal: AbortSignal | undefined,
): Promise<ProviderError> {
  const { provider, clock, http, response } = exchanged;
  const isAborted = thrown instanceof Interrupted ? thrown.interruption.by === 'signal' : undefined;
  if (isAborted ?? signal?.aborted) return abortedError(exchanged, thrown, signal);
  let loaded: typeof import('./error-builder.ts');
  let secretsOf: typeof import('./redactor.ts').secretsOf;
  try {
    loaded = await import('./error-builder.ts');
    ({ secretsOf } = await import('./redactor.ts'));
  } catch (cause) {
    return notClassified(exchanged, cause);
  }
  const errors = new loaded.ErrorBuilder(provider, clock);
  errors.response = response;
  if (http !== undefined) {
    errors.redactSecrets(secretsOf(http));
    errors.sentLength = () => bodyLength(http.body);
    errors.url = http.url;
  }
  return errors.build(thrown, signal);
}

/** Reads the error of a response with an error status. */
export async function failureOf(response: Response, exchange: HttpExchange): Promise<WireFault> {
  const { readFailure } = await import('./error-builder.ts');
  return readFailure(response, exchange);
}

function abortedError(
  { provider, response }: FailedExchange,
  thrown: unknown,
  signal: AbortSignal | undefined,
): ProviderError {
  const isInterrupted = thrown instanceof Interrupted && thrown.interruption.by === 'signal';
  const cause = isInterrupted ? thrown.interruption : signal;
  const status = response?.ok === false ? response.status : undefined;
  const message = `${provider} was aborted. Send the request again if this was not intended`;
  return new ProviderError('aborted', message, { provider, status, cause: cause?.reason });
}

/**
 * Returns the error if the code that classifies errors could not be loaded. The usual reason is that the web
 * page is offline. The request then failed for the same reason and can be retried.
 */
function notClassified({ provider, response }: FailedExchange, cause: unknown): ProviderError {
  const status = response?.ok === false ? response.status : undefined;
  const message =
    `${provider} failed, and the code that classifies errors could not be loaded. ` +
    'Check the network, and deploy all files of the bundle';
  return new ProviderError('network', message, { provider, status, cause });
}
