import { ProtocolError, parseJson } from '@millrace/core';
import {
  ProviderError,
  type ProviderErrorKind,
  type RetryAdvice,
} from '../contract/provider-error.ts';
import { parseMessage } from '../json/parse-message.ts';
import type { Clock } from '../transport/clock.ts';
import { Interrupted, type Interruption, NetworkFailure } from '../transport/failures.ts';
import { type HttpExchange, readText } from '../transport/http-exchange.ts';
import { SseError } from '../transport/sse-reader.ts';
import { errorKindOf, errorKindOfEmptyBody } from './error-kind.ts';
import { clip, messageFor, messageForBrokenAnswer, messageForUnsent } from './error-message.ts';
import { errorReportIn, errorReportOfFailure } from './error-report.ts';
import { redact, redactError } from './redact.ts';
import { delayFromHeaders, delayFromText, delayUntilReset } from './retry-delay.ts';
import { type ErrorReport, fault, ReportedFault, WireFault } from './wire-fault.ts';

const requestIdHeaders = [
  'x-request-id',
  'request-id',
  'apim-request-id',
  'x-goog-request-id',
  'x-amzn-requestid',
];

/**
 * Builds the `ProviderError` for the error, timeout or abort that ended a response. It adds data from the
 * HTTP response and removes API keys.
 */
export class ErrorBuilder {
  readonly #provider: string;
  readonly #clock: Clock;
  #secrets: readonly string[] = [];
  response: Response | undefined;
  /**
   * Returns the length of the request body. The length is needed to classify an error response that has no
   * body.
   */
  sentLength: () => number = () => 0;
  /** The URL of the request. */
  url = '';

  constructor(provider: string, clock: Clock) {
    this.#provider = provider;
    this.#clock = clock;
  }

  /** Adds values that are removed from every message. */
  redactSecrets(secrets: readonly string[]): void {
    this.#secrets = secrets;
  }

  build(thrown: unknown, signal: AbortSignal | undefined): ProviderError {
    if (thrown instanceof Interrupted) return this.#fromInterruption(thrown.interruption);
    // After an abort, the error is always `aborted`, even if a different error followed.
    if (signal?.aborted) return this.#create('aborted', '', signal.reason);
    if (thrown instanceof WireFault) {
      return this.#fromReport(thrown.report, thrown.kind, this.#redactedCause(thrown.cause));
    }
    if (thrown instanceof ReportedFault) return this.#fromReport(reportOf(thrown));
    if (thrown instanceof NetworkFailure) return this.#fromNetworkFailure(thrown);
    if (thrown instanceof SseError && thrown.type === 'error_field') {
      return this.#fromReport(errorReportOfField(thrown.message));
    }
    if (thrown instanceof SseError || thrown instanceof ProtocolError) {
      return this.#create('protocol_error', thrown.message, this.#ownCause(thrown));
    }
    return this.#create(
      'protocol_error',
      'the answer could not be read',
      this.#redactedCause(thrown),
    );
  }

  #fromInterruption(interruption: Interruption): ProviderError {
    switch (interruption.by) {
      case 'signal':
        return this.#create('aborted', '', interruption.reason);
      case 'deadline': {
        const { deadline, afterMs } = interruption;
        const what = deadline === 'silence' ? ', with comments or pings but no content' : '';
        return this.#create('timeout', `the ${deadline} timeout of ${afterMs} ms passed${what}`);
      }
    }
  }

  #fromNetworkFailure(failure: NetworkFailure): ProviderError {
    const refusedBy = /ECONNREFUSED/.test(failure.message) ? loopbackHost(this.url) : undefined;
    if (refusedBy !== undefined) {
      const cause = this.#redactedCause(failure);
      const reason = `nothing listens at ${refusedBy}; start the server there`;
      // One more attempt may succeed, because the server may be restarting. Further attempts are unlikely to
      // succeed.
      return this.#create('network', reason, cause, { retry: 'once' });
    }
    // If the URL itself is invalid, a retry would fail too.
    const isAddress = !/parse URL|invalid URL|includes credentials|bad port/i.test(failure.message);
    const kind = isAddress ? 'network' : 'invalid_request';
    return this.#create(kind, failure.message, this.#redactedCause(failure));
  }

  #fromReport(report: ErrorReport, knownKind?: ProviderErrorKind, cause?: unknown): ProviderError {
    const status = this.#failedStatus ?? report.status;
    const isEmpty = status !== undefined && report.message === '';
    const kind =
      knownKind ??
      (isEmpty
        ? errorKindOfEmptyBody(status, this.sentLength)
        : errorKindOf({ ...report, status }));
    return this.#create(kind, report.message, cause, { ...report, status });
  }

  #create(
    kind: ProviderErrorKind,
    reason: string,
    cause?: unknown,
    {
      codes = [],
      status,
      requestId,
      delayText,
      retry,
    }: Partial<ErrorReport> & { readonly retry?: RetryAdvice } = {},
  ): ProviderError {
    const headers = this.response?.headers;
    const sentId = requestIdHeaders.flatMap((name) => headers?.get(name) ?? [])[0];
    return new ProviderError(kind, this.#message(kind, this.#redactedText(reason) ?? ''), {
      provider: this.#provider,
      status: status ?? this.#failedStatus,
      providerCode: this.#redactedText(codes[0]),
      requestId: this.#redactedText(requestId ?? sentId),
      retryAfterMs: this.#delay(kind, delayText),
      retry: retry ?? this.#retryAdvice(kind),
      cause,
    });
  }

  #message(kind: ProviderErrorKind, reason: string): string {
    // If there is no response, these two kinds mean that this package rejected the request before sending it.
    if (kind === 'network' && this.response?.ok) {
      return messageForBrokenAnswer(this.#provider, reason);
    }
    const isUnsent = this.response === undefined && (kind === 'invalid_request' || kind === 'auth');
    return isUnsent && reason !== ''
      ? messageForUnsent(this.#provider, reason)
      : messageFor(kind, this.#provider, reason);
  }

  /**
   * Returns a short text without API keys. It removes keys before it shortens the text, because otherwise a part
   * of a key could remain.
   */
  #redactedText(text: string | undefined): string | undefined {
    return text === undefined ? undefined : clip(redact(text, this.#secrets));
  }

  /** Returns an error of Millrace as a cause. It stays the same error, except if it quotes a secret. */
  #ownCause(thrown: Error): unknown {
    const all = [thrown.message, thrown.stack, JSON.stringify(thrown)].join('\n');
    return redact(all, this.#secrets) === all ? thrown : this.#redactedCause(thrown);
  }

  #redactedCause(thrown: unknown): unknown {
    return redactError(thrown, this.#secrets);
  }

  /**
   * Returns the delay that the provider asks for, in milliseconds. The headers of a successful response are
   * ignored, because they do not request a delay.
   */
  #delay(kind: ProviderErrorKind, text: string | undefined): number | undefined {
    const reportedDelay = text === undefined ? undefined : delayFromText(text);
    if (this.response === undefined || this.response.ok) return reportedDelay;
    const { headers } = this.response;
    const nowMs = this.#clock.now();
    const isLimit = kind === 'rate_limit' || kind === 'overloaded' || kind === 'quota';
    const resetMs = isLimit ? delayUntilReset(headers, nowMs) : undefined;
    return delayFromHeaders(headers, nowMs) ?? resetMs ?? reportedDelay;
  }

  /**
   * Returns the advice of the header `x-should-retry`, if the response has one. The header refers to the
   * unchanged request. It is ignored if the request was aborted or must be changed first.
   */
  #retryAdvice(kind: ProviderErrorKind): RetryAdvice | undefined {
    const isOpen = kind !== 'aborted' && kind !== 'history_rejected';
    if (!isOpen || this.response === undefined || this.response.ok) return undefined;
    const advice = this.response.headers.get('x-should-retry');
    return advice === 'true' ? 'yes' : advice === 'false' ? 'no' : undefined;
  }

  get #failedStatus(): number | undefined {
    return this.response === undefined || this.response.ok ? undefined : this.response.status;
  }
}

const maxErrorBodyBytes = 2 ** 16;

/**
 * The time to wait for the body of an error response, in milliseconds. The status alone is often sufficient.
 */
const errorBodyMs = 5000;

/** Reads the error of a response with an error status. */
export async function readFailure(response: Response, exchange: HttpExchange): Promise<WireFault> {
  const { status } = response;
  if (status === 0 || (status >= 300 && status < 400)) {
    return redirectFault(response);
  }
  exchange.drainFor(errorBodyMs);
  const { text: read, isCut } = await readText(exchange, maxErrorBodyBytes);
  const text = isCut ? withoutCutWord(read) : read;
  const parsed = parseJson(text);
  const report = errorReportOfFailure(parsed.ok ? parsed.value : undefined, text);
  return new WireFault({ ...report, status });
}

/** Maximum length of a word that is removed because it can be the start of a key. */
const maxCutWord = 4096;

/** Removes the last word of a text that was cut. It can be the start of a key, which no search for the key finds. */
function withoutCutWord(text: string): string {
  let end = text.length;
  while (end > text.length - maxCutWord && /\S/.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/**
 * Returns the error for a redirect. Its message omits the query of the target URL, because a query can
 * contain secrets.
 */
function redirectFault({ status, headers, url }: Response): WireFault {
  const target = URL.parse(headers.get('location') ?? '', url || undefined);
  const where = target === null ? '' : ` to ${target.origin}${target.pathname}`;
  const found = `the address redirects${where} (status ${status})`;
  return fault('invalid_request', `${found}; use its target as base URL`);
}

/**
 * Returns the host and port if the server is on this machine, and otherwise undefined. If a remote host
 * refuses a connection, a later attempt may succeed.
 */
function loopbackHost(url: string): string | undefined {
  const parsed = URL.parse(url);
  if (parsed === null) return undefined;
  const { hostname, host } = parsed;
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname) ? host : undefined;
}

function reportOf({ body, text }: ReportedFault): ErrorReport {
  const known = text === undefined ? errorReportIn(body) : undefined;
  return known ?? errorReportOfFailure(body, text ?? '');
}

function errorReportOfField(text: string): ErrorReport {
  const error = parseMessage(text) ?? text;
  return errorReportIn({ error }) ?? errorReportOfFailure(undefined, text);
}
