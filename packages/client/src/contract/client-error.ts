import { type ErrorPlace, MillraceError } from '@millrace/core';

/** Error codes of the server. */
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
  | 'rewound'
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
  | 'agent_timeout'
  | 'storage_full';

/**
 * The reason why an operation of the client failed. It is an error code of the server, or a code of the
 * client itself.
 */
export type ClientErrorCode =
  | RefusalCode
  /** The caller used an option that the client does not have. */
  | 'bad_option'
  /** The server did not respond, or the connection broke. */
  | 'unreachable'
  /** The stream sent no data for too long, so the client treats the connection as broken. */
  | 'silent'
  /** The response does not come from a Millrace server. */
  | 'bad_answer'
  /** The reader of events reads too slowly, and too many events are waiting. */
  | 'lagging'
  | 'closed';

/** Details of a client error. */
export interface ClientErrorOptions extends ErrorOptions {
  /** The status of the HTTP response. Default: none, because the client received no response. */
  readonly status?: number | undefined;
  /** The delay that the server requests before the next attempt, in milliseconds. Default: none. */
  readonly retryAfterMs?: number | undefined;
  /** Details from the server that programs can read. Default: none. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Thrown when an operation fails. If the server sent an error message, this error has the same message. */
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
