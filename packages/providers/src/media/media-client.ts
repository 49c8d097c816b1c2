import {
  ByteCollector,
  isJsonObject,
  type JsonObject,
  noUsage,
  type OptionNames,
  type Usage,
} from '@millrace/core';
import type { MediaCallOptions, MediaRetries } from '../contract/media.ts';
import type { ModelInfo } from '../contract/model-info.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { ErrorBuilder, readFailure } from '../errors/error-builder.ts';
import { errorReportIn } from '../errors/error-report.ts';
import { secretsOf } from '../errors/redactor.ts';
import { fault, faultBy, WireFault } from '../errors/wire-fault.ts';
import { parseMessage } from '../json/parse-message.ts';
import { withCost } from '../models/cost-of.ts';
import type { ModelInfoOptions } from '../models/model-info.ts';
import { checkCount, checkDuration } from '../transport/check-number.ts';
import { waitFor } from '../transport/clock.ts';
import { HttpExchange } from '../transport/http-exchange.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import {
  createTransport,
  type Transport,
  type TransportOptions,
} from '../transport/transport-options.ts';
import { type ApiOptions, assertProviderOptions } from '../wire/api-options.ts';
import { optionsFor } from '../wire/provider-options.ts';

/** Options for every model that does not chat. */
export interface MediaTransportOptions
  extends Pick<TransportOptions, 'clock' | 'timeouts' | 'maxConcurrentRequests'>,
    ModelInfoOptions {
  /** Retries of failed requests. Default: see `MediaRetries`. */
  readonly retry?: Partial<MediaRetries> | undefined;
}

/** Options for every model that does not chat and that this package calls over HTTP. */
export interface MediaApiOptions
  extends MediaTransportOptions,
    Pick<ApiOptions, 'model' | 'apiKey' | 'baseUrl' | 'headers' | 'fetch'> {}

/** The names of the options of `MediaApiOptions`. */
export const mediaOptionNames: OptionNames<MediaApiOptions> = {
  ...{ model: true, apiKey: true, baseUrl: true, headers: true, fetch: true, clock: true },
  ...{ timeouts: true, maxConcurrentRequests: true, models: true, info: true, retry: true },
};

/** One call over HTTP. It contains the functions that build the request and read the answer. */
interface MediaCall<Answer> {
  readonly signal?: AbortSignal | undefined;
  /** Builds the request. Throws a `WireFault` if the request can never be sent, even with retries. */
  http(): HttpRequest | Promise<HttpRequest>;
  /** Reads the answer. Throws a `WireFault` if the answer cannot be used. */
  read(bytes: Uint8Array, response: Response): Answer;
}

/** Sends the requests of one model over HTTP, with its limits and retries. */
export interface MediaClient {
  /** Sends the request and returns the answer. Throws a `ProviderError`. */
  call<Answer>(call: MediaCall<Answer>): Promise<Answer>;
}

/** Maximum size of an answer in bytes, because the whole answer is kept in memory. */
const maxAnswerBytes = 64 * 2 ** 20;

/** Creates the client for a model. Throws a `RangeError` if an option has an invalid number. */
export function createMediaClient(
  provider: string,
  options: MediaTransportOptions & Pick<TransportOptions, 'fetch'>,
): MediaClient {
  const transport = createTransport(options);
  const retries = completeRetries(options.retry ?? {});
  return {
    call: (call) =>
      withRetries({ provider, transport, retries, signal: call.signal }, () =>
        attempt(provider, transport, call),
      ),
  };
}

async function attempt<Answer>(
  provider: string,
  transport: Transport,
  { signal, http, read }: MediaCall<Answer>,
): Promise<Answer> {
  const errors = new ErrorBuilder(provider, transport.clock);
  let exchange: HttpExchange | undefined;
  try {
    const request = await builtBy(http);
    errors.redactSecrets(secretsOf(request));
    errors.url = request.url;
    errors.sentLength = () => request.content?.length ?? JSON.stringify(request.body).length;
    exchange = new HttpExchange({ ...transport, signal });
    const response = await exchange.open(request);
    errors.response = response;
    if (!response.ok) throw await readFailure(response, exchange);
    return read(await readBytes(exchange), response);
  } catch (error) {
    throw errors.build(error, signal);
  } finally {
    exchange?.close();
  }
}

/**
 * Builds the request. An error at this point means that the request can never be sent, so it is not retried.
 */
async function builtBy(http: MediaCall<unknown>['http']): Promise<HttpRequest> {
  try {
    return await http();
  } catch (error) {
    if (error instanceof WireFault) throw error;
    throw faultBy(error, 'invalid_request', 'the request cannot be built');
  }
}

async function readBytes(exchange: HttpExchange): Promise<Uint8Array> {
  const collected = new ByteCollector();
  for (let chunk = await exchange.read(); chunk !== undefined; chunk = await exchange.read()) {
    collected.add(chunk);
    if (collected.length > maxAnswerBytes) {
      throw fault(
        'invalid_request',
        `the answer is longer than ${maxAnswerBytes} bytes; ask for less`,
      );
    }
    if (chunk.length > 0) exchange.recordContent();
  }
  return collected.toBytes();
}

/**
 * Reads an answer that must be a JSON object. Throws if the answer is an error, because some gateways report
 * errors with the status 200.
 */
export function readJsonAnswer(bytes: Uint8Array): JsonObject {
  const body = parseMessage(new TextDecoder().decode(bytes));
  const report = errorReportIn(body);
  if (report !== undefined) throw new WireFault(report);
  if (isJsonObject(body)) return body;
  throw fault('protocol_error', 'the answer is not a JSON object');
}

/** Throws an error of the kind `invalid_request` if the value is not a string or is empty. */
export function checkTextInput(provider: string, field: string, value: unknown): void {
  if (typeof value === 'string' && value.trim() !== '') return;
  const message = `Cannot use the ${field}: it must be a text that is not empty`;
  throw new ProviderError('invalid_request', message, { provider });
}

/**
 * Adds the caller's options for a provider to a body. Throws if an option would replace one of the fixed
 * fields.
 */
export function withCallOptions(
  provider: string,
  body: JsonObject,
  { providerOptions }: MediaCallOptions,
  fixed: readonly string[],
): JsonObject {
  const own = optionsFor(provider, { items: [], providerOptions });
  const taken = fixed.find((name) => Object.hasOwn(own, name));
  if (taken === undefined) return { ...body, ...own };
  const why = 'the call sets it itself; leave it out';
  throw fault('invalid_request', `providerOptions cannot set ${taken}: ${why}`);
}

/** Returns the usage of a call, with its cost if the price of the model is known. */
export function mediaUsage(tokens: Partial<Usage> | undefined, { prices }: ModelInfo): Usage {
  if (tokens === undefined) return { ...noUsage, estimated: true };
  return withCost({ ...noUsage, ...tokens }, prices);
}

const defaultRetries: MediaRetries = { maxAttempts: 4, baseDelayMs: 1000, maxDelayMs: 60_000 };

/**
 * Returns the retry settings, with defaults for missing values. Throws for unknown names and invalid numbers.
 */
export function completeRetries(given: Partial<MediaRetries>): MediaRetries {
  assertProviderOptions('retry', given, {
    ...{ maxAttempts: true, baseDelayMs: true, maxDelayMs: true },
  });
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  const retries = { ...defaultRetries, ...Object.fromEntries(set) };
  checkCount('maxAttempts', retries.maxAttempts);
  checkDuration('baseDelayMs', retries.baseDelayMs);
  checkDuration('maxDelayMs', retries.maxDelayMs);
  return retries;
}

/** The values that all attempts of one call share. */
export interface RetryContext {
  readonly provider: string;
  readonly transport: Transport;
  readonly retries: MediaRetries;
  readonly signal: AbortSignal | undefined;
}

/**
 * Repeats a failed attempt by the same rule as an agent. While a call waits for its next attempt, it does not
 * count toward the concurrency limit.
 */
export async function withRetries<Answer>(
  { provider, transport, retries, signal }: RetryContext,
  attemptOnce: () => Promise<Answer>,
): Promise<Answer> {
  const { clock, semaphore } = transport;
  const stop = signal ?? new AbortController().signal;
  const aborted = () => new ErrorBuilder(provider, clock).build(stop.reason, stop);
  for (let failures = 1; ; failures++) {
    const release = await semaphore.acquire(stop).catch(() => Promise.reject(aborted()));
    try {
      // The signal may abort while the request waits in the queue.
      if (stop.aborted) throw aborted();
      return await attemptOnce();
    } catch (error) {
      const delayMs = retryDelay(error, failures, retries);
      if (delayMs === undefined) throw error;
      release();
      await waitFor(delayMs, clock, stop);
      if (stop.aborted) throw aborted();
    } finally {
      release();
    }
  }
}

function retryDelay(error: unknown, failures: number, retries: MediaRetries): number | undefined {
  if (!(error instanceof ProviderError) || !error.retryable) return undefined;
  const { maxAttempts, baseDelayMs, maxDelayMs } = retries;
  const allowed = Math.min(maxAttempts, error.retry === 'once' ? 2 : maxAttempts);
  const hintMs = error.retryAfterMs ?? 0;
  if (failures >= allowed || hintMs > maxDelayMs) return undefined;
  const backoffMs = Math.min(maxDelayMs, baseDelayMs * 2 ** (failures - 1));
  return Math.max(hintMs, Math.round(backoffMs * (0.5 + Math.random() / 2)));
}
