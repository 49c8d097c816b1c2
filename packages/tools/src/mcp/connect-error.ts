import { SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { clip } from './clip.ts';
import { explain } from './explain.ts';
import { McpError } from './mcp-error.ts';
import type { McpServer } from './mcp-server.ts';
import { redactorOf } from './secrets.ts';

/** Why there is no connection, as it was found. For our own eyes: it may quote headers. */
export class ConnectError extends Error {
  readonly lastWords: string;

  constructor(cause: unknown, lastWords: string) {
    super('No connection', { cause });
    this.lastWords = lastWords;
  }
}

const maxLength = 3_000;

/** The same, as it may be told. */
export function cannotConnect(server: McpServer, error: unknown, timeoutMs: number): McpError {
  const { name } = server;
  const { cause, lastWords } =
    error instanceof ConnectError ? error : { cause: error, lastWords: '' };
  const why = [reason(server, cause, timeoutMs), lastWords].filter((text) => text !== '');
  const told = clip(redactorOf(server)(why.join(' ')), maxLength);
  return new McpError('cannot_connect', `Cannot connect to MCP server ${name}: ${told}`, {
    server: name,
  });
}

function reason(server: McpServer, error: unknown, timeoutMs: number): string {
  if (isMissing(error)) {
    const { command, cwd } = server.stdio ?? {};
    const place = cwd === undefined ? '' : `, or no folder ${cwd}`;
    return `there is no program ${command}${place}. Install it, or give its path.`;
  }
  if (SdkHttpError.isInstance(error) && [401, 403].includes(error.status)) {
    return `${explain(error)}. Check the headers that it gets.`;
  }
  if (!SdkError.isInstance(error)) return `${explain(error)}.`;
  if (error.code === SdkErrorCode.ConnectionClosed) return 'it went away.';
  if (error.code === SdkErrorCode.RequestTimeout) {
    return `it did not answer within ${timeoutMs} ms (connectTimeoutMs).`;
  }
  return `${explain(error)}.`;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
