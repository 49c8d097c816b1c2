import type { Tool } from '@millrace/agent';
import type { McpServer, McpTools } from '@millrace/tools/mcp';
import { oneLine } from '../text/cells/printable.ts';

/** The tools of all connected servers, and one message for each server that failed. */
export interface ServerTools {
  readonly tools: readonly Tool[];
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/** The user waits for the prompt until all servers are connected, so the timeout is short. */
const connectTimeoutMs = 10_000;
/** The last output of a failed server may have many lines. */
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
  // Loaded on demand: the module is large and most users have no MCP server.
  const { connectMcp } = await import('@millrace/tools/mcp');
  const connecting = servers.map((server) => connectMcp(server, { connectTimeoutMs, onProblem }));
  const results = await Promise.race([Promise.allSettled(connecting), whenAborted(signal)]);
  if (results === undefined) {
    // Slow servers also close slowly. They end with the process, so nothing waits for them.
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
 * Tool names must be unique. The first tool of a name is used. A tool whose name begins as those of
 * another server is left out, even if that server has no such tool now: a rule for the other server
 * must not allow it.
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
