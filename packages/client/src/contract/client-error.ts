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
 * The reason why an operation of the client failed. It is an error code of the server, or one of the client
 * itself.
 */
export type ClientErrorCode =
  | RefusalCode
  /** The client has no option with this name. */
  | 'bad_option'
  /** The server did not answer, or the connection broke. */
  | 'unreachable'
  /** The stream sent nothing for too long, so the connection counts as dead. */
  | 'silent'
  /** The answer does not come from a Millrace server. */
  | 'bad_answer'
  /** The reader of events has fallen too far behind. */
  | 'lagging'
  | 'closed';

/** Details of a client error. */
export interface ClientErrorOptions extends ErrorOptions {
  /** The status of the HTTP response. Default: none, because there was no response. */
  readonly status?: number | undefined;
  /** How long the server asks the client to wait, in milliseconds. Default: none. */
  readonly retryAfterMs?: number | undefined;
  /** Details that the server sent for programs to read. Default: none. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Thrown when an operation fails. If the server sent a message, it is the message of this error. */
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
