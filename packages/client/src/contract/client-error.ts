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
 * Why an operation of the client failed: an error code of the server, or one of the client itself.
 */
export type ClientErrorCode =
  | RefusalCode
  /** An option of the client does not exist. */
  | 'bad_option'
  /** The server did not answer, or the connection broke. */
  | 'unreachable'
  /** The stream sent nothing for too long and is considered dead. */
  | 'silent'
  /** The answer does not come from a Millrace server. */
  | 'bad_answer'
  /** The reader of events is too far behind. */
  | 'lagging'
  | 'closed';

/** Details of a client error. */
export interface ClientErrorOptions extends ErrorOptions {
  /** The status of the HTTP response, if there was one. Default: none. */
  readonly status?: number | undefined;
  /** The wait that the server asks for. Default: none. */
  readonly retryAfterMs?: number | undefined;
  /** Details that the server sent for programs to read. Default: none. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** The reason why an operation failed. The message is the server's, if it sent one. */
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
