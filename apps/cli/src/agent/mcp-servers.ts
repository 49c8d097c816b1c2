import type { Tool } from '@millrace/agent';
import type { McpServer, McpTools } from '@millrace/tools/mcp';
import { oneLine } from '../print/printable.ts';

/** The tools of all servers that could be had, and a word on those that could not. */
export interface ServerTools {
  readonly tools: readonly Tool[];
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/** People wait for the prompt meanwhile. */
const connectTimeoutMs = 10_000;
/** What a program said at its end may be many lines. */
const maxProblemLength = 500;

interface ConnectOptions {
  readonly onProblem?: ((problem: string) => void) | undefined;
  /** Ends the waiting for them. */
  readonly signal?: AbortSignal | undefined;
}

const noServers: ServerTools = { tools: [], problems: [], close: async () => {} };

/** Connects with all servers at the same time. One that fails is left out. */
export async function connectMcpServers(
  servers: readonly McpServer[],
  { onProblem, signal }: ConnectOptions = {},
): Promise<ServerTools> {
  if (servers.length === 0 || signal?.aborted) return noServers;
  // Loaded where it is needed: it is large, and most have no server.
  const { connectMcp } = await import('@millrace/tools/mcp');
  const connecting = servers.map((server) => connectMcp(server, { connectTimeoutMs, onProblem }));
  const results = await Promise.race([Promise.allSettled(connecting), whenAborted(signal)]);
  if (results === undefined) {
    // Those that are slow to answer are slow to end; the process takes them with it.
    for (const one of connecting) one.then((server) => server.close()).catch(() => {});
    return noServers;
  }
  const connected = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = results.flatMap((one) =>
    one.status === 'rejected' ? [skippedMessage(one.reason)] : [],
  );
  const { tools, problems } = dropDuplicateTools(connected);
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
  const why = reason instanceof Error ? reason.message : 'It cannot be connected with';
  return `${oneLine(why, maxProblemLength).replace(/\.+$/, '')}. It is left out.`;
}

/** No two tools may have one name. */
function dropDuplicateTools(servers: readonly McpTools[]): Omit<ServerTools, 'close'> {
  const tools = new Map<string, Tool>();
  const problems: string[] = [];
  for (const tool of servers.flatMap((server) => server.tools)) {
    if (tools.has(tool.name)) problems.push(`There are two tools ${tool.name}. One is left out.`);
    else tools.set(tool.name, tool);
  }
  return { tools: [...tools.values()], problems };
}
