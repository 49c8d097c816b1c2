import { type ErrorInfo, type ErrorPlace, MillraceError } from '@millrace/core';

/** What went wrong, by what can be done about it. */
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

/** May it be sent again: as often as the caller's patience allows, once, once without its reasoning, or not? */
export type Retry = 'yes' | 'once' | 'once_without_reasoning' | 'no';

const retries: { readonly [Kind in ProviderErrorKind]: Retry } = {
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

export interface ProviderErrorDetails {
  readonly provider: string;
  /** Of the HTTP response. */
  readonly status?: number | undefined;
  /** The provider's own word for it. */
  readonly providerCode?: string | undefined;
  readonly requestId?: string | undefined;
  /** How long the provider asks to wait. */
  readonly retryAfterMs?: number | undefined;
  /** Where the provider itself says whether to try again. */
  readonly retry?: Retry | undefined;
  readonly cause?: unknown;
}

/** A request that failed. No part of the request is in it, and so no key either. */
export class ProviderError extends MillraceError<ProviderErrorKind> {
  readonly provider: string;
  readonly retry: Retry;
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

  get kind(): ProviderErrorKind {
    return this.code;
  }

  /** As it is. `once_without_reasoning` is no such case: the request must be changed first. */
  get retryable(): boolean {
    return this.retry === 'yes' || this.retry === 'once';
  }

  /** For a log of the program: without the stack and the cause. */
  toJSON(): Readonly<Record<string, string | number | undefined>> {
    const { kind, message, provider, status, providerCode, requestId, retry, retryAfterMs } = this;
    return { kind, message, provider, status, providerCode, requestId, retry, retryAfterMs };
  }

  /** For a record. */
  get info(): ErrorInfo {
    return { code: this.code, message: this.message };
  }
}
