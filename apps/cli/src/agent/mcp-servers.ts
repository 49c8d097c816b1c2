import type { Tool } from '@millrace/agent';
import { MillraceError } from '@millrace/core';
import type { McpOptions, McpTools, OpenLoginPage } from '@millrace/tools/mcp';
import { commandHint } from '../args/command-hint.ts';
import { guardServerScripts } from '../config/server-scripts.ts';
import type { ServerState } from '../contract/agent.ts';
import type { ConfiguredMcpServer } from '../contract/config.ts';
import type { SlashPrompt } from '../contract/extensions.ts';
import { loginServer, serverForLogin, withLogin } from '../mcp/server-login.ts';
import { serverPrompts } from '../mcp/server-prompts.ts';
import { oneLine } from '../text/cells/printable.ts';

/** The MCP servers of an agent. They connect in the background. */
export interface ServerTools {
  /** Returns the tools of all servers that are connected now, and a message for each problem. */
  current(): { readonly tools: readonly Tool[]; readonly problems: readonly string[] };
  /** Returns the tools that apps of the connected servers can call. */
  appTools(): readonly Tool[];
  /** Returns the names of the servers that are not connected yet. */
  connecting(): readonly string[];
  /** Calls the listener each time a server has connected or failed. */
  onChange(listener: () => void): void;
  /** Resolves when each server is connected or has failed, or when the signal aborts. */
  readonly ready: Promise<void>;
  /** Returns the state of each server. */
  list(): readonly ServerState[];
  /** Connects to a server again. Resolves when it has connected or failed. */
  reconnect(name: string): Promise<void>;
  /** Returns the prompts of the connected servers, as slash commands. */
  prompts(): readonly SlashPrompt[];
  /** Logs in to a server, and connects to it again. Throws if the login fails. */
  login(name: string, openPage: OpenLoginPage): Promise<void>;
  /** Deletes the login to a server, and closes its connection. */
  logout(name: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Maximum time for the start of a server. Some servers download their program on the first start.
 */
const defaultConnectTimeoutMs = 60_000;
/**
 * Maximum length of a message about a failed server. The message contains output of the server,
 * which may have many lines.
 */
const maxProblemLength = 500;

interface ConnectOptions {
  readonly onProblem?: ((problem: string) => void) | undefined;
  /** Aborts the connection attempts. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The folder of the session. A server whose files in the project change does not start again. Default: the
   * files are not checked.
   */
  readonly cwd?: string | undefined;
  /** True if users see the sessions on a page, which can show apps of the servers. Default: false. */
  readonly isServed?: boolean | undefined;
}

const noServers: ServerTools = {
  current: () => ({ tools: [], problems: [] }),
  appTools: () => [],
  connecting: () => [],
  onChange: () => {},
  ready: Promise.resolve(),
  list: () => [],
  reconnect: async () => {},
  prompts: () => [],
  login: async (name) => void serverForLogin([], name),
  logout: async (name) => void serverForLogin([], name),
  close: async () => {},
};

type Outcome =
  | { readonly connected: McpTools }
  | { readonly problem: string; readonly needsLogin?: boolean };

/**
 * Connects to all MCP servers in parallel. If a server fails, it is skipped, and the problem is
 * reported.
 */
export function connectMcpServers(
  servers: readonly ConfiguredMcpServer[],
  { onProblem, signal, cwd, isServed }: ConnectOptions = {},
): ServerTools {
  if (servers.length === 0 || signal?.aborted) return noServers;
  const outcomes = new Map<string, Outcome>();
  const listeners: (() => void)[] = [];
  const guards = new Map(
    servers.map((server) => [server.name, cwd && guardServerScripts(server, cwd)] as const),
  );
  const connect = async (server: ConfiguredMcpServer) => {
    const beforeStart = guards.get(server.name) || undefined;
    const outcome = await connectServer(server, onProblem, { beforeStart, apps: isServed });
    outcomes.set(server.name, outcome);
    for (const listener of listeners) listener();
    return outcome;
  };
  const reconnect = async (name: string) => {
    const server = servers.find((one) => one.name === name);
    const before = outcomes.get(name);
    // A server that still connects is not started a second time.
    if (server === undefined || before === undefined) return;
    outcomes.delete(name);
    for (const listener of listeners) listener();
    await closeServer(before);
    await connect(server);
  };
  const closed = new AbortController();
  const connecting = servers.map(connect);
  const names = servers.map(({ name }) => name);
  return {
    current: () => currentTools(names, outcomes),
    appTools: () => toolsOf(names, outcomes, ({ appTools }) => appTools).tools,
    connecting: () => names.filter((name) => !outcomes.has(name)),
    onChange: (listener) => void listeners.push(listener),
    ready: Promise.race([Promise.all(connecting).then(() => {}), whenAborted(signal)]),
    list: () => names.map((name) => stateOf(name, outcomes.get(name))),
    reconnect,
    prompts: () =>
      names.flatMap((name) => {
        const outcome = outcomes.get(name);
        return outcome && 'connected' in outcome ? serverPrompts(name, outcome.connected) : [];
      }),
    login: async (name, openPage) => {
      const server = serverForLogin(servers, name);
      const module = await import('@millrace/tools/mcp');
      await module.loginMcp(loginServer(server, module), { openPage, signal: closed.signal });
      await reconnect(name);
    },
    logout: async (name) => {
      const server = serverForLogin(servers, name);
      const module = await import('@millrace/tools/mcp');
      await module.logoutMcp(loginServer(server, module));
      await reconnect(name);
    },
    close: async () => {
      closed.abort();
      // The function does not wait for servers that are still starting. They end with this process.
      for (const one of connecting) one.then(closeServer).catch(() => {});
      await Promise.all([...outcomes.values()].map(closeServer));
    },
  };
}

/** Connects to one server. `millrace doctor` also uses this function. It never throws. */
export async function connectServer(
  server: ConfiguredMcpServer,
  onProblem?: (problem: string) => void,
  more: Pick<McpOptions, 'beforeStart' | 'apps'> = {},
): Promise<Outcome> {
  try {
    // The module is loaded on demand, because it is large and most users have no MCP servers.
    const module = await import('@millrace/tools/mcp');
    const { connectTimeoutMs = defaultConnectTimeoutMs } = server;
    const options = { connectTimeoutMs, onProblem, ...more };
    return { connected: await module.connectMcp(withLogin(server, module), options) };
  } catch (error) {
    const why = error instanceof Error ? error.message : 'The connection failed';
    const problem = oneLine(why, maxProblemLength).replace(/(?<!\.)\.+$/, '');
    const needsLogin = error instanceof MillraceError && error.code === 'login_required';
    if (!needsLogin) return { problem };
    const { name } = server;
    return {
      problem: `${problem} with /mcp login ${name}, or ${commandHint({}, 'mcp login', name)}`,
      needsLogin,
    };
  }
}

function stateOf(name: string, outcome: Outcome | undefined): ServerState {
  if (outcome === undefined) return { name, state: 'connecting', tools: 0 };
  if ('problem' in outcome) {
    const { problem, needsLogin = false } = outcome;
    return needsLogin
      ? { name, state: 'needs_login', tools: 0 }
      : { name, state: 'failed', tools: 0, problem };
  }
  return { name, state: 'connected', tools: outcome.connected.tools.length };
}

async function closeServer(outcome: Outcome): Promise<void> {
  if ('connected' in outcome) await outcome.connected.close();
}

function currentTools(
  names: readonly string[],
  outcomes: ReadonlyMap<string, Outcome>,
): ReturnType<ServerTools['current']> {
  const failed = names.flatMap((server) => {
    const outcome = outcomes.get(server);
    return outcome && 'problem' in outcome ? [`${outcome.problem}. The server is skipped.`] : [];
  });
  const { tools, problems } = toolsOf(names, outcomes, (connected) => connected.tools);
  return { tools, problems: [...failed, ...problems] };
}

/** Collects tools of the connected servers. */
function toolsOf(
  names: readonly string[],
  outcomes: ReadonlyMap<string, Outcome>,
  read: (connected: McpTools) => readonly Tool[],
): ReturnType<ServerTools['current']> {
  const offered = names.flatMap((server) => {
    const outcome = outcomes.get(server);
    return outcome && 'connected' in outcome ? [{ server, tools: read(outcome.connected) }] : [];
  });
  return dropAmbiguousTools(offered, names);
}

function whenAborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Collects the tools of all servers. Tool names must be unique, so only the first tool with a name
 * is used. A tool is also dropped if its name starts with the prefix of a different server.
 * Otherwise a permission rule for that server could allow this tool. Dropped tools are reported in
 * `problems`.
 */
function dropAmbiguousTools(
  connected: readonly { readonly server: string; readonly tools: McpTools['tools'] }[],
  names: readonly string[],
): ReturnType<ServerTools['current']> {
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

/**
 * Returns true if the name of a tool of the server `own` also starts with the prefix of the server
 * `other`, and the prefix of `other` is longer than the prefix of `own`.
 */
function isNamedAs(tool: string, own: string, other: string): boolean {
  return (
    toolPrefix(other).length > toolPrefix(own).length && tool.startsWith(`${toolPrefix(other)}_`)
  );
}

/** Returns the prefix that `connectMcp` adds to the tool names of a server. */
export function toolPrefix(server: string): string {
  return server.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 32);
}
