import type { Transport } from '@modelcontextprotocol/client';
import type { McpSettings } from '../../contract/mcp-options.ts';
import type { McpHttpServer, McpServer, McpStdioServer } from '../../contract/mcp-server.ts';
import type { ServerAuthorization } from '../oauth/server-authorization.ts';
import { clip, describeError, type Redact } from './error-text.ts';
import { HttpTransport } from './http-transport.ts';
import { StdioTransport } from './stdio-transport.ts';

/** The transport of one connection, with a method that closes it. */
export interface ServerTransport {
  readonly transport: Transport;
  /**
   * Returns sentences that explain why the connection broke. Returns an empty text if the reason is unknown.
   */
  failureDetails(): string;
  close(): Promise<void>;
}

/** The parts that all connections to a server share: its login, and the removal of its secrets from texts. */
export interface ServerAccess {
  readonly authorization?: ServerAuthorization | undefined;
  readonly redact: Redact;
}

export function createTransport(
  server: McpServer,
  settings: McpSettings,
  access: ServerAccess,
): ServerTransport {
  return server.stdio === undefined
    ? httpTransport(server, settings, access)
    : stdioTransport(server, settings, access);
}

function stdioTransport(
  server: McpStdioServer,
  settings: McpSettings,
  { redact }: ServerAccess,
): ServerTransport {
  const transport = new StdioTransport(server.stdio, settings);
  return {
    transport,
    close: () => transport.close(),
    failureDetails: () => {
      const said = transport.stderr.text(redact);
      const ended = transport.exitText === '' ? [] : [`${transport.exitText}.`];
      return [...ended, ...(said === '' ? [] : [`Last output: ${said}`])].join(' ');
    },
  };
}

function httpTransport(
  server: McpHttpServer,
  settings: McpSettings,
  { redact, authorization }: ServerAccess,
): ServerTransport {
  const transport = new HttpTransport(server.http, settings, authorization);
  let problem = '';
  transport.onerror = (error) => {
    problem = clip(redact(describeError(error)), 500);
  };
  return {
    transport,
    failureDetails: () => (problem === '' ? '' : `${problem}.`),
    close: async () => {
      // A server that does not respond must not delay closing.
      const timer = setTimeout(() => void transport.close(), settings.graceMs);
      await transport.terminateSession().catch(() => {});
      clearTimeout(timer);
      await transport.close();
    },
  };
}
