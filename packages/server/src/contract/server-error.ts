import { type ErrorPlace, isMillraceError, MillraceError } from '@millrace/core';
import { ProviderError } from '@millrace/providers';

/** What a request can be refused with: the HTTP status, and the code of JSON-RPC. */
const kinds = {
  /** The request cannot be read at all. */
  bad_request: [400, -32600],
  /** What it asks for is not possible in the state that the thing is in. */
  bad_state: [400, -32603],
  unauthorized: [401, -32603],
  forbidden: [403, -32603],
  not_found: [404, -32603],
  method_not_allowed: [405, -32601],
  not_acceptable: [406, -32600],
  request_timeout: [408, -32603],
  /** Somebody else changed it meanwhile, or has that name. */
  conflict: [409, -32603],
  /** An offset that never existed, or is not there any more. */
  gone: [410, -32602],
  too_large: [413, -32600],
  unsupported_media_type: [415, -32600],
  misdirected: [421, -32603],
  /** It can be read, and is not what is expected here. */
  invalid: [422, -32602],
  rate_limited: [429, -32603],
  headers_too_large: [431, -32600],
  internal: [500, -32603],
  not_implemented: [501, -32601],
  /** The agent threw, or answered something that it should not. */
  agent_failed: [502, -32603],
  /** It is about to close, or what it needs cannot be reached. */
  unavailable: [503, -32603],
  agent_timeout: [504, -32603],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;

export type ServerErrorCode = keyof typeof kinds;

export interface ServerErrorOptions extends ErrorOptions {
  /** What the caller may do about it, for programs. Never content. */
  readonly details?: Readonly<Record<string, string | number | boolean>> | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** A refusal. Its message is told to whoever asked. */
export class ServerError extends MillraceError<ServerErrorCode> {
  readonly details: ServerErrorOptions['details'];
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ServerErrorCode,
    message: string,
    place: ErrorPlace = {},
    { details, retryAfterMs, ...options }: ServerErrorOptions = {},
  ) {
    super(code, message, place, options);
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }

  /** Of the HTTP answer. */
  get status(): number {
    return kinds[this.code][0];
  }

  get rpcCode(): number {
    return kinds[this.code][1];
  }
}

const maxLength = 2000;

/** Why something failed, for people: what the agent's author wrote, or threw. */
export function errorReason(error: unknown): string {
  const text =
    error instanceof Error
      ? error.message
      : typeof error === 'string'
        ? error
        : 'it threw no error';
  return text.slice(0, maxLength);
}

/** For programs. */
export function errorCode(error: unknown): string {
  if (error instanceof ProviderError) return error.kind;
  const reason = error instanceof ServerError ? error.details?.['reason'] : undefined;
  if (typeof reason === 'string') return reason;
  return isMillraceError(error) ? error.code : 'agent_failed';
}
