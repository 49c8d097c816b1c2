import { type ErrorPlace, MillraceError } from '@millrace/core';

/** The codes of `McpError`. */
export type McpErrorCode =
  /** The server could not be started or reached, or it does not use the MCP protocol. */
  | 'cannot_connect'
  /** The server needs a login of the user. Call `loginMcp`. */
  | 'login_required'
  /** A login did not succeed. */
  | 'login_failed'
  /** The server could not give a prompt. */
  | 'prompt_failed'
  /** `close()` was called. */
  | 'closed';

/**
 * Thrown when an MCP server cannot be used. A failed tool call is a tool result, not an `McpError`.
 */
export class McpError extends MillraceError<McpErrorCode> {
  constructor(code: McpErrorCode, message: string, place: ErrorPlace = {}) {
    // The error has no `cause`, because the error of the transport may contain headers with secrets.
    super(code, message, place);
  }
}

/** Thrown if a message was not sent. The server therefore cannot have acted on it. */
export class UnsentError extends Error {
  constructor() {
    super('The message was not sent: the connection is closed');
    this.name = 'UnsentError';
  }
}

/** What a server says about the login that it needs. The server controls all fields. */
export interface LoginChallenge {
  readonly scope?: string | undefined;
  /** The address of the metadata of the server. */
  readonly metadataUrl?: URL | undefined;
}

/** Thrown inside this package if the server refused a request because the user has to log in. */
export class LoginNeededError extends Error {
  readonly challenge: LoginChallenge;

  constructor(challenge: LoginChallenge, isStepUp: boolean) {
    super(isStepUp ? 'it asks for more rights than it has' : 'it needs a login');
    this.name = 'LoginNeededError';
    this.challenge = challenge;
  }
}
