import { type ErrorInfo, type ErrorPlace, MillraceError } from '@millrace/core';

/** The kind of failure. Callers react differently to each kind. */
export type ProviderErrorKind =
  | 'invalid_request'
  | 'context_overflow'
  | 'history_rejected'
  | 'auth'
  | 'permission'
  | 'quota'
  | 'rate_limit'
  | 'overloaded'
  | 'server'
  | 'network'
  | 'timeout'
  | 'truncated_stream'
  | 'protocol_error'
  | 'model_output_invalid'
  | 'filtered'
  | 'aborted';

/**
 * States if the request can be sent again. `yes`: with backoff, as often as the caller wants. `once`: one
 * more time. `once_without_reasoning`: one more time, without the reasoning of earlier turns. `no`: never,
 * because the request would fail again.
 */
export type RetryAdvice = 'yes' | 'once' | 'once_without_reasoning' | 'no';

const retries: { readonly [Kind in ProviderErrorKind]: RetryAdvice } = {
  invalid_request: 'no',
  context_overflow: 'no',
  history_rejected: 'once_without_reasoning',
  auth: 'no',
  permission: 'no',
  quota: 'no',
  rate_limit: 'yes',
  overloaded: 'yes',
  server: 'yes',
  network: 'yes',
  timeout: 'yes',
  truncated_stream: 'yes',
  protocol_error: 'once',
  model_output_invalid: 'no',
  filtered: 'no',
  aborted: 'no',
};

/** The details of a failed request. */
export interface ProviderErrorDetails {
  /** The provider's id. */
  readonly provider: string;
  /** The HTTP status of the response. */
  readonly status?: number | undefined;
  /** The provider's own error code or error type. */
  readonly providerCode?: string | undefined;
  /** The id that the provider gave to the request. The provider's support needs it to find the request. */
  readonly requestId?: string | undefined;
  /** The delay that the provider asks for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The provider's own statement if the request can be sent again. Default: derived from the kind. */
  readonly retry?: RetryAdvice | undefined;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/**
 * Thrown or returned if a request to a model failed. The error contains no part of the request and therefore
 * no API key.
 */
export class ProviderError extends MillraceError<ProviderErrorKind> {
  readonly provider: string;
  readonly retry: RetryAdvice;
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;
  readonly providerCode: string | undefined;
  readonly requestId: string | undefined;

  constructor(kind: ProviderErrorKind, message: string, details: ProviderErrorDetails) {
    const { provider, status, providerCode, requestId, retryAfterMs, retry, cause } = details;
    const location: ErrorPlace = { provider, status, providerCode, requestId };
    super(kind, message, location, cause === undefined ? undefined : { cause });
    this.provider = provider;
    this.retry = retry ?? retries[kind];
    this.retryAfterMs = retryAfterMs;
    this.status = status;
    this.providerCode = providerCode;
    this.requestId = requestId;
  }

  /** The kind of failure. It is the same value as `code`. */
  get kind(): ProviderErrorKind {
    return this.code;
  }

  /**
   * True if the same request can be sent again without changes. It is false for `once_without_reasoning`,
   * because the caller must change the request first.
   */
  get retryable(): boolean {
    return this.retry === 'yes' || this.retry === 'once';
  }

  /** Returns the fields of the error for log files, without the stack and the cause. */
  toJSON(): Readonly<Record<string, string | number | undefined>> {
    const { kind, message, provider, status, providerCode, requestId, retry, retryAfterMs } = this;
    return { kind, message, provider, status, providerCode, requestId, retry, retryAfterMs };
  }

  /** The code and message, in the form that records store. */
  get info(): ErrorInfo {
    return { code: this.code, message: this.message };
  }
}
