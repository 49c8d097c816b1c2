import { type ErrorPlace, MillraceError } from '@millrace/core';

/** What the server refuses something with. */
type RefusalCode =
  | 'bad_request'
  | 'bad_state'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'request_timeout'
  | 'conflict'
  | 'gone'
  | 'too_large'
  | 'unsupported_media_type'
  | 'misdirected'
  | 'invalid'
  | 'rate_limited'
  | 'headers_too_large'
  | 'internal'
  | 'not_implemented'
  | 'agent_failed'
  | 'unavailable'
  | 'agent_timeout';

export type ClientErrorCode =
  | RefusalCode
  /** Nobody answered, or the connection broke. */
  | 'unreachable'
  /** The stream said nothing for so long that it is taken for dead. */
  | 'silent'
  /** What came is no answer of such a server. */
  | 'bad_answer'
  /** Who reads events is too far behind. */
  | 'lagging'
  | 'closed';

export interface ClientErrorOptions extends ErrorOptions {
  /** Of the HTTP answer, where there was one. */
  readonly status?: number | undefined;
  /** What the server wants to be waited for. */
  readonly retryAfterMs?: number | undefined;
  /** What the server says for programs. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Why something could not be done. The message is the server's where there is one. */
export class ClientError extends MillraceError<ClientErrorCode> {
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly details: ClientErrorOptions['details'];

  constructor(
    code: ClientErrorCode,
    message: string,
    place: ErrorPlace = {},
    { status, retryAfterMs, details, ...options }: ClientErrorOptions = {},
  ) {
    super(code, message, place, options);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.details = details;
  }
}
