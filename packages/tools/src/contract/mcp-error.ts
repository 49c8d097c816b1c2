import { type ErrorPlace, MillraceError } from '@millrace/core';

/** The codes of `McpError`. */
export type McpErrorCode =
  /** The server could not be started or reached, or it does not use the MCP protocol. */
  | 'cannot_connect'
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
