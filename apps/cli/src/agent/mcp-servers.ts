import type { Tool } from '@millrace/agent';
import type { McpServer, McpTools } from '@millrace/tools/mcp';
import { oneLine } from '../text/cells/printable.ts';

/** The tools of all connected servers, and one message for each server that failed. */
export interface ServerTools {
  readonly tools: readonly Tool[];
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/**
 * How long to wait for a server. It is short, because the user waits for the prompt until all
 * servers are connected.
 */
const connectTimeoutMs = 10_000;
/**
 * Maximum length of a message about a failed server. The last output of the server may have many
 * lines.
 */
const maxProblemLength = 500;

interface ConnectOptions {
  readonly onProblem?: ((problem: string) => void) | undefined;
  /** Aborts the connection attempts. */
  readonly signal?: AbortSignal | undefined;
}

const noServers: ServerTools = { tools: [], problems: [], close: async () => {} };

/** Connects to all MCP servers in parallel. A server that fails is skipped and reported. */
export async function connectMcpServers(
  servers: readonly McpServer[],
  { onProblem, signal }: ConnectOptions = {},
): Promise<ServerTools> {
  if (servers.length === 0 || signal?.aborted) return noServers;
  // The module is loaded on demand, because it is large and most users have no MCP server.
  const { connectMcp } = await import('@millrace/tools/mcp');
  const connecting = servers.map((server) => connectMcp(server, { connectTimeoutMs, onProblem }));
  const results = await Promise.race([Promise.allSettled(connecting), whenAborted(signal)]);
  if (results === undefined) {
    // Slow servers also close slowly. Nothing waits for them, because they end with the process.
    for (const one of connecting) one.then((server) => server.close()).catch(() => {});
    return noServers;
  }
  const names = servers.map(({ name }) => name);
  const connected = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const offered = results.flatMap((one, at) =>
    one.status === 'fulfilled' ? [{ server: names[at] ?? '', tools: one.value.tools }] : [],
  );
  const failed = results.flatMap((one) =>
    one.status === 'rejected' ? [skippedMessage(one.reason)] : [],
  );
  const { tools, problems } = dropAmbiguousTools(offered, names);
  return {
    tools,
    problems: [...failed, ...problems],
    close: async () => void (await Promise.all(connected.map((server) => server.close()))),
  };
}

function whenAborted(signal: AbortSignal | undefined): Promise<undefined> {
  return new Promise((resolve) => {
    signal?.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

function skippedMessage(reason: unknown): string {
  const why = reason instanceof Error ? reason.message : 'The connection failed';
  return `${oneLine(why, maxProblemLength).replace(/\.+$/, '')}. The server is skipped.`;
}

/**
 * Collects the tools of all servers. Tool names must be unique, so only the first tool of a name is
 * used. A tool whose name begins with the name of another server is left out, even if that server has
 * no such tool now. A rule for a tool of the other server must not allow it. Tools that are left out
 * are reported in `problems`.
 */
function dropAmbiguousTools(
  connected: readonly { readonly server: string; readonly tools: McpTools['tools'] }[],
  names: readonly string[],
): Omit<ServerTools, 'close'> {
  const tools = new Map<string, Tool>();
  const problems: string[] = [];
  for (const { server, tools: offered } of connected)
    for (const tool of offered) {
      const other = names.find((name) => isNamedAs(tool.name, server, name));
      if (other !== undefined)
        problems.push(
          `The tool ${tool.name} of the MCP server ${server} has a name of the server ${other}. It is skipped. Rename one of the servers.`,
        );
      else if (tools.has(tool.name))
        problems.push(`Two MCP tools have the name ${tool.name}. The second one is skipped.`);
      else tools.set(tool.name, tool);
    }
  return { tools: [...tools.values()], problems };
}

/** Whether the name of a tool begins with the longer name of another server. */
function isNamedAs(tool: string, own: string, other: string): boolean {
  return (
    toolPrefix(other).length > toolPrefix(own).length && tool.startsWith(`${toolPrefix(other)}_`)
  );
}

/** As `connectMcp` makes the names of tools. */
function toolPrefix(server: string): string {
  return server.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 32);
}
