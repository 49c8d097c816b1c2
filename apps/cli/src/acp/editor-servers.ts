import { type McpServer as EditorServer, RequestError } from '@agentclientprotocol/sdk';
import { toolPrefix } from '../agent/mcp-servers.ts';
import type { ConfiguredMcpServer } from '../contract/config.ts';

/** Maximum number of MCP servers that an editor can hand over for a session. */
const maxServers = 64;

interface HandedServers {
  /** The servers of the configuration and of the editor. */
  readonly servers: readonly ConfiguredMcpServer[];
  readonly problems: readonly string[];
}

/**
 * Adds the MCP servers that the editor handed over to those of the configuration. A configured server has
 * precedence, because permission rules name a server by its prefix. Throws an `invalid params` error for a
 * transport that is not supported.
 */
export function withEditorServers(
  configured: readonly ConfiguredMcpServer[],
  handed: readonly EditorServer[],
  cwd: string,
): HandedServers {
  if (handed.length > maxServers)
    throw RequestError.invalidParams(undefined, `at most ${maxServers} MCP servers are possible`);
  const servers = [...configured];
  const prefixes = new Set(configured.map(({ name }) => toolPrefix(name)));
  const problems: string[] = [];
  for (const one of handed) {
    const server = toServer(one, cwd);
    const prefix = toolPrefix(server.name);
    if (prefixes.has(prefix))
      problems.push(
        `The MCP server ${server.name} of the editor is skipped: another server has this name.`,
      );
    else servers.push(server);
    prefixes.add(prefix);
  }
  return { servers, problems };
}

function toServer(server: EditorServer, cwd: string): ConfiguredMcpServer {
  if (server.name.trim() === '')
    throw RequestError.invalidParams(undefined, 'an MCP server has no name');
  if ('type' in server) {
    const { type, name, url, headers } = server;
    if (type !== 'http')
      throw RequestError.invalidParams({ name }, `the MCP transport ${type} is not supported`);
    return { name, http: { url, headers: pairs(headers) } };
  }
  const { name, command, args, env } = server;
  return { name, stdio: { command, args, env: pairs(env), cwd } };
}

function pairs(
  list: readonly { readonly name: string; readonly value: string }[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}
