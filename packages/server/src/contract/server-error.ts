import { type ErrorPlace, isMillraceError, MillraceError } from '@millrace/core';
import { ProviderError } from '@millrace/providers';

/** The HTTP status and the JSON-RPC code of each error code. */
const statusCodes = {
  /** The server cannot parse the request. */
  bad_request: [400, -32600],
  /** The current state of the resource does not allow the request. */
  bad_state: [400, -32603],
  unauthorized: [401, -32603],
  forbidden: [403, -32603],
  not_found: [404, -32603],
  method_not_allowed: [405, -32601],
  not_acceptable: [406, -32600],
  request_timeout: [408, -32603],
  /** A concurrent request changed the resource, or the name is already in use. */
  conflict: [409, -32603],
  /** The offset never existed, or its records were deleted. */
  gone: [410, -32602],
  /** The log was rewound after the client received its cursor. The client must read from the start. */
  rewound: [410, -32602],
  too_large: [413, -32600],
  unsupported_media_type: [415, -32600],
  misdirected: [421, -32603],
  /** The server can parse the request, but the request does not match the schema. */
  invalid: [422, -32602],
  rate_limited: [429, -32603],
  headers_too_large: [431, -32600],
  internal: [500, -32603],
  not_implemented: [501, -32601],
  /** A handler of the agent threw, or its answer was invalid. */
  agent_failed: [502, -32603],
  /** The server is closing, or it cannot reach a service that it needs. */
  unavailable: [503, -32603],
  agent_timeout: [504, -32603],
  /** The disk of the server is full. The error message describes which data was stored. */
  storage_full: [507, -32603],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;

/** Codes of a `ServerError`. */
export type ServerErrorCode = keyof typeof statusCodes;

export interface ServerErrorOptions extends ErrorOptions {
  /** Details for programs. They never contain the content of tasks. */
  readonly details?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** The delay after which the client may try again, in milliseconds. Default: no hint. */
  readonly retryAfterMs?: number | undefined;
}

/** An error that the server reports to the client. Clients see its message. */
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

  /** The HTTP status of the response. */
  get status(): number {
    return statusCodes[this.code][0];
  }

  /** The error code of the JSON-RPC response. */
  get rpcCode(): number {
    return statusCodes[this.code][1];
  }
}

const maxLength = 2000;

/** Returns the message of any thrown value, for status texts and diagnostics. */
export function errorReason(error: unknown): string {
  const text =
    error instanceof Error
      ? error.message
      : typeof error === 'string'
        ? error
        : 'it threw a value that is not an error';
  return text.slice(0, maxLength);
}

/**
 * Returns the reason that clients and the log get for an error of a handler. The message of any other exception can
 * contain secrets, for example the address of a database with its password.
 */
export function publicReason(error: unknown): string {
  return isMillraceError(error) ? errorReason(error) : hiddenReason;
}

const hiddenReason =
  'The handler of the agent threw an error. onDiagnostic of the server receives its message';

/** Matches control characters, line ends, and characters that change the direction of text. */
const controlCharacters = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * Returns a diagnostic as one line without control characters. A diagnostic can contain a message of a remote
 * agent, which must not add lines to a log or control a terminal.
 */
export function diagnosticLine(problem: string): string {
  return problem.replace(controlCharacters, '?').toWellFormed();
}

/** Returns a code for any thrown value. Programs can compare it. */
export function errorCode(error: unknown): string {
  if (error instanceof ProviderError) return error.kind;
  const reason = error instanceof ServerError ? error.details?.['reason'] : undefined;
  if (typeof reason === 'string') return reason;
  return isMillraceError(error) ? error.code : 'agent_failed';
}
