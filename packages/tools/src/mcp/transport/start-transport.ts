import type { Transport } from '@modelcontextprotocol/client';
import type { McpSettings } from '../../contract/mcp-options.ts';
import type { McpHttpServer, McpServer, McpStdioServer } from '../../contract/mcp-server.ts';
import { HttpTransport } from './http-transport.ts';
import { StdioTransport } from './stdio-transport.ts';
import { clip, explain, redactorOf } from './text.ts';

/** One way to a server, for one connection. */
export interface Wire {
  readonly transport: Transport;
  /** What is known of why it broke, in sentences; may be nothing. */
  lastWords(): string;
  end(): Promise<void>;
}

export function wireTo(server: McpServer, settings: McpSettings): Wire {
  return server.stdio === undefined ? httpWire(server, settings) : stdioWire(server, settings);
}

function stdioWire(server: McpStdioServer, settings: McpSettings): Wire {
  const transport = new StdioTransport(server.stdio, settings);
  const redact = redactorOf(server);
  return {
    transport,
    end: () => transport.close(),
    lastWords: () => {
      const said = transport.stderr.text(redact);
      const ended = transport.end === '' ? [] : [`${transport.end}.`];
      return [...ended, ...(said === '' ? [] : [`Its last words: ${said}`])].join(' ');
    },
  };
}

function httpWire(server: McpHttpServer, settings: McpSettings): Wire {
  const transport = new HttpTransport(server.http, settings.maxMessageBytes);
  const redact = redactorOf(server);
  let problem = '';
  transport.onerror = (error) => {
    problem = clip(redact(explain(error)), 500);
  };
  return {
    // The types of its callbacks are stricter than those of the interface it implements.
    transport: transport as Transport,
    lastWords: () => (problem === '' ? '' : `${problem}.`),
    end: async () => {
      // Who is gone cannot be told that we go.
      const timer = setTimeout(() => void transport.close(), settings.graceMs);
      await transport.terminateSession().catch(() => {});
      clearTimeout(timer);
      await transport.close();
    },
  };
}
