import { type ErrorPlace, MillraceError } from '@millrace/core';

export type McpErrorCode =
  /** The server could not be started or reached, or does not speak the protocol. */
  | 'cannot_connect'
  /** `close()` was called. */
  | 'closed';

/** An MCP server that cannot be used. What goes wrong in a call is a result, not one of these. */
export class McpError extends MillraceError<McpErrorCode> {
  constructor(code: McpErrorCode, message: string, place: ErrorPlace = {}) {
    // Without a cause: what the transport throws may quote headers.
    super(code, message, place);
  }
}

/** A message did not reach the server: what it asked for was not done. */
export class UnsentError extends Error {
  constructor() {
    super('The message was not sent: the connection is closed');
    this.name = 'UnsentError';
  }
}
