import { AgentError } from '@millrace/agent';
import type { McpOAuth } from './mcp-oauth.ts';

/** Describes an MCP server and how to connect to it. */
export type McpServer = McpStdioServer | McpHttpServer;

/** An MCP server that runs as a child process and communicates through its standard input and output. */
export interface McpStdioServer {
  /** The prefix of the tool names, as in `<name>_<tool>`. */
  readonly name: string;
  readonly stdio: {
    /** The program to start. */
    readonly command: string;
    /** Arguments of the program. Default: none. */
    readonly args?: readonly string[] | undefined;
    /**
     * Additional environment variables for the program. The program inherits only PATH, HOME and a few more
     * variables from this process. Default: none.
     */
    readonly env?: Readonly<Record<string, string>> | undefined;
    /** Working folder of the program. Default: the current folder of this process. */
    readonly cwd?: string | undefined;
  };
  readonly http?: undefined;
}

/** An MCP server that communicates through Streamable HTTP. */
export interface McpHttpServer {
  /** The prefix of the tool names, as in `<name>_<tool>`. */
  readonly name: string;
  readonly http: {
    /** An http or https URL without a password. */
    readonly url: string | URL;
    /** Headers that are sent with each request. Default: none. */
    readonly headers?: Readonly<Record<string, string>> | undefined;
    /** A function that replaces the global `fetch`. Default: the global `fetch`. */
    readonly fetch?: typeof fetch | undefined;
    /**
     * How to log in with OAuth. It has no effect if `headers` contains `authorization`. Default: the client does
     * not log in.
     */
    readonly oauth?: McpOAuth | undefined;
  };
  readonly stdio?: undefined;
}

/** Throws if the server description is invalid. It runs before a process or a request is started. */
export function checkServer(server: McpServer): void {
  const { name, stdio, http } = server;
  if (name === '') throw invalidServer(name, 'it has no name');
  if ((stdio === undefined) === (http === undefined)) {
    throw invalidServer(name, 'it needs either stdio or http');
  }
  if (stdio?.command === '') throw invalidServer(name, 'its command is empty');
  if (http !== undefined) checkUrl(name, String(http.url));
}

function checkUrl(name: string, url: string): void {
  const parsed = URL.parse(url);
  if (parsed === null) throw invalidServer(name, 'its url is not valid');
  if (!/^https?:$/.test(parsed.protocol))
    throw invalidServer(name, 'its url does not use http or https');
  if (parsed.username !== '' || parsed.password !== '') {
    throw invalidServer(name, 'its url contains a password. Put it into headers.authorization');
  }
}

function invalidServer(name: string, why: string): AgentError {
  const message = `Cannot use MCP server ${JSON.stringify(name.slice(0, 100))}: ${why}`;
  return new AgentError('bad_option', message, { server: name });
}
