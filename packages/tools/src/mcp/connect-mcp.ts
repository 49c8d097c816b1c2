import type { Tool } from '@millrace/agent';
import { abortable } from '../abortable.ts';
import { LoginNeededError, McpError } from '../contract/mcp-error.ts';
import { type McpOptions, resolveMcpOptions } from '../contract/mcp-options.ts';
import { checkServer, type McpServer } from '../contract/mcp-server.ts';
import { assertKnownOptions } from '../known-options.ts';
import { login } from './oauth/login-mcp.ts';
import { hasLogin, ServerAuthorization } from './oauth/server-authorization.ts';
import { type McpPrompt, RemotePrompts } from './remote-prompts.ts';
import { RemoteTools } from './remote-tools.ts';
import type { LogIn, RemoteServer } from './server/call-tool.ts';
import {
  ConnectError,
  type Connection,
  cannotConnect,
  openConnection,
} from './server/connection.ts';
import { ServerLink } from './server/server-link.ts';
import { clip, createRedactor, describeError } from './transport/error-text.ts';

/** The tools of a connected MCP server. */
export interface McpTools {
  /**
   * The current tools of the server. The agent can still call a tool that the server has removed. The server
   * then reports an error.
   */
  readonly tools: readonly Tool[];
  /**
   * The tools that apps of the server can call. Some of them are not in `tools`, because the server hides them
   * from models. The list is empty without the option `apps`, and if no tool of the server has an app.
   */
  readonly appTools: readonly Tool[];
  /**
   * Instructions of the server for the model. They are untrusted text. Check them before you send them to a
   * model.
   */
  readonly instructions: string | undefined;
  /** The current prompts of the server. Default: the list is empty. */
  readonly prompts: readonly McpPrompt[];
  /**
   * Returns the text of a prompt, for a message of the user. It is text of the server. Throws an `McpError` with
   * the code `prompt_failed`.
   */
  getPrompt(name: string, given?: Readonly<Record<string, string>>): Promise<string>;
  /** Closes the connection and stops the server process. Running calls fail. */
  close(): Promise<void>;
}

const maxInstructionsLength = 16_000;
const maxProblemLength = 3_000;

/**
 * Connects to an MCP server and makes its tools available to an agent.
 *
 * @example
 * ```ts
 * const files = await connectMcp({ name: 'files', stdio: { command: 'files-server', args: ['.'] } });
 * const agent = createAgent({ provider, tools: files.tools });
 * ```
 */
export async function connectMcp(server: McpServer, options: McpOptions = {}): Promise<McpTools> {
  checkServer(server);
  assertKnownOptions('connectMcp', options, {
    ...{ trustAnnotations: true, negotiate: true, connectTimeoutMs: true, timeoutMs: true },
    ...{ totalTimeoutMs: true, graceMs: true, maxMessageBytes: true, maxAttachmentBytes: true },
    ...{ maxDescriptionLength: true, maxOutputLength: true, onChange: true, onProblem: true },
    ...{ beforeStart: true, apps: true, maxAppBytes: true },
  });
  const settings = resolveMcpOptions(options, server.http !== undefined);
  const { connectTimeoutMs: timeoutMs } = settings;
  const link = new ServerLink(server.name, open);
  const authorization = hasLogin(server)
    ? new ServerAuthorization(server, link.closing)
    : undefined;
  const redact = createRedactor(server, authorization);
  const access = { authorization, redact };
  const logIn = loginFunction(server, link.closing);
  const report = (problem: string) => {
    try {
      settings.onProblem?.(clip(redact(`MCP server ${server.name}: ${problem}`), maxProblemLength));
    } catch {
      // An error in the callback must not close the connection.
    }
  };
  const remote: RemoteServer = { server: server.name, link, settings, redact, report, logIn };
  const remoteTools = new RemoteTools(remote);
  const remotePrompts = new RemotePrompts(remote);
  const refresher = new ToolListRefresher({
    remoteTools,
    closing: link.closing,
    timeoutMs,
    onChange: () => settings.onChange?.(remoteTools.tools),
    onProblem: (error) => report(describeError(error)),
  });

  async function open(closing: AbortSignal): Promise<Connection> {
    try {
      return await openOnce(closing);
    } catch (error) {
      const { cause } = error instanceof ConnectError ? error : { cause: error };
      if (logIn === undefined || !(cause instanceof LoginNeededError)) throw failure(error);
      await logIn(cause.challenge, closing);
      return openOnce(closing).catch((again: unknown) => {
        throw failure(again);
      });
    }
  }

  async function openOnce(closing: AbortSignal): Promise<Connection> {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
    const onListChanged = (connection: Connection) => refresher.refresh(connection);
    try {
      await settings.beforeStart?.();
      const onPromptsChanged = (connection: Connection) => void remotePrompts.refresh(connection);
      const connection = await openConnection(server, settings, {
        ...{ signal, onListChanged, onPromptsChanged, access },
      });
      // A restarted server may have a different version with different tools.
      if (remoteTools.isLoaded) {
        refresher.refresh(connection);
        onPromptsChanged(connection);
      }
      return connection;
    } catch (error) {
      closing.throwIfAborted();
      throw error;
    }
  }

  function failure(error: unknown): Error {
    return error instanceof McpError ? error : cannotConnect(server, error, timeoutMs, access);
  }

  const first = await firstConnection(link, refresher, failure, logIn);
  await remotePrompts.refresh(first);
  const { instructions } = first;
  return {
    get tools() {
      return remoteTools.tools;
    },
    get appTools() {
      return settings.apps ? remoteTools.appTools : [];
    },
    get prompts() {
      return remotePrompts.prompts;
    },
    getPrompt: (name, given = {}) => remotePrompts.get(name, given),
    instructions: instructions && clip(instructions, maxInstructionsLength),
    close: () => link.close(),
  };
}

/** Returns a function that logs in. Returns undefined if a user has to log in, and nobody can open the page. */
function loginFunction(server: McpServer, closing: AbortSignal): LogIn | undefined {
  if (!hasLogin(server)) return undefined;
  const { openPage, as } = server.http.oauth;
  if (openPage === undefined && as !== 'program') return undefined;
  let running: Promise<void> | undefined;
  return async (challenge, signal) => {
    // Calls that fail at the same time share one login page.
    running ??= login(server, challenge, { signal: closing }).finally(() => {
      running = undefined;
    });
    await abortable(running, signal);
  };
}

/**
 * Opens the connection and lists the tools. Closes the connection if the tools cannot be listed.
 */
async function firstConnection(
  link: ServerLink,
  lists: ToolListRefresher,
  failure: (error: unknown) => Error,
  logIn: LogIn | undefined,
): Promise<Connection> {
  const connection = await link.acquire(link.closing);
  try {
    await lists.read(connection).catch(async (error: unknown) => {
      // Some servers allow the handshake without a login.
      if (logIn === undefined || !(error instanceof LoginNeededError)) throw error;
      await logIn(error.challenge, link.closing);
      await lists.read(connection);
    });
    return connection;
  } catch (error) {
    if (error instanceof McpError) {
      await link.close();
      throw error;
    }
    const failureDetails = connection.failureDetails();
    await link.close();
    throw failure(new ConnectError(error, failureDetails));
  }
}

interface RefresherOptions {
  readonly remoteTools: RemoteTools;
  /** The signal aborts when the connection is closed. */
  readonly closing: AbortSignal;
  readonly timeoutMs: number;
  readonly onChange: () => void;
  readonly onProblem: (error: unknown) => void;
}

/**
 * Reads the tool list of a server. Reads run one after the other, so an older list cannot replace a newer
 * list.
 */
class ToolListRefresher {
  readonly #options: RefresherOptions;
  #work: Promise<void> = Promise.resolve();
  // The connection for the next read. Several changes during a read cause only one additional read.
  #next: Connection | undefined;

  constructor(keeping: RefresherOptions) {
    this.#options = keeping;
  }

  /** Reads the first list. Throws if it fails, because a server without a list of tools is useless. */
  async read(connection: Connection): Promise<void> {
    const reading = this.#work.then(() => this.#list(connection));
    this.#work = reading.then(
      () => {},
      () => {},
    );
    await reading;
  }

  refresh(connection: Connection): void {
    const isWaiting = this.#next !== undefined;
    this.#next = connection;
    if (!isWaiting) this.#work = this.#work.then(() => this.#listNext());
  }

  async #listNext(): Promise<void> {
    const connection = this.#next;
    this.#next = undefined;
    const { closing, onChange, onProblem } = this.#options;
    try {
      if (connection !== undefined && (await this.#list(connection))) onChange();
    } catch (error) {
      if (!closing.aborted) onProblem(error);
    }
  }

  async #list(connection: Connection): Promise<boolean> {
    const { remoteTools, closing, timeoutMs } = this.#options;
    const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
    const listed = await connection.listTools(signal, (problem) => remoteTools.reportOnce(problem));
    const isOther = remoteTools.replace(listed);
    return isOther && !closing.aborted;
  }
}
