import type { Tool } from '@millrace/agent';
import type { McpServer, McpTools } from '@millrace/tools/mcp';

/** The tools of all servers that could be had, and a word on those that could not. */
export interface ServerTools {
  readonly tools: readonly Tool[];
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/** People wait for the prompt meanwhile. */
const connectTimeoutMs = 10_000;

/** Connects with all servers at the same time. One that fails is left out. */
export async function connectServers(
  servers: readonly McpServer[],
  onProblem?: (problem: string) => void,
): Promise<ServerTools> {
  if (servers.length === 0) return { tools: [], problems: [], close: async () => {} };
  // Loaded where it is needed: it is large, and most have no server.
  const { connectMcp } = await import('@millrace/tools/mcp');
  const tried = await Promise.allSettled(
    servers.map((server) => connectMcp(server, { connectTimeoutMs, onProblem })),
  );
  const connected = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = tried.flatMap((one) => (one.status === 'rejected' ? [leftOut(one.reason)] : []));
  const { tools, problems } = distinct(connected);
  return {
    tools,
    problems: [...failed, ...problems],
    close: async () => void (await Promise.all(connected.map((server) => server.close()))),
  };
}

function leftOut(reason: unknown): string {
  const why = reason instanceof Error ? reason.message : 'It cannot be connected with';
  return `${why}. It is left out.`;
}

/** No two tools may have one name. */
function distinct(servers: readonly McpTools[]): Omit<ServerTools, 'close'> {
  const tools = new Map<string, Tool>();
  const problems: string[] = [];
  for (const tool of servers.flatMap((server) => server.tools)) {
    if (tools.has(tool.name)) problems.push(`There are two tools ${tool.name}. One is left out.`);
    else tools.set(tool.name, tool);
  }
  return { tools: [...tools.values()], problems };
}
