import type { Tool } from '@millrace/agent';
import type { Remote } from './call-tool.ts';
import { clip } from './clip.ts';
import { ConnectError, cannotConnect } from './connect-error.ts';
import { type Connection, openConnection } from './connection.ts';
import { explain } from './explain.ts';
import { ListKeeper } from './list-keeper.ts';
import { completeOptions, type McpOptions } from './mcp-options.ts';
import { checkServer, type McpServer } from './mcp-server.ts';
import { redactorOf } from './secrets.ts';
import { ServerLink } from './server-link.ts';
import { ToolShelf } from './tool-shelf.ts';

/** A server whose tools can be used. */
export interface McpTools {
  /** Those it has now. One that it had before can still be called, and the server says what it thinks of it. */
  readonly tools: readonly Tool[];
  /** What the server wants a model to know. Written by others: judge it before you pass it on. */
  readonly instructions: string | undefined;
  /** Ends the connection, and the process behind it. Calls that run are given up. */
  close(): Promise<void>;
}

const maxInstructionsLength = 16_000;
const maxProblemLength = 3_000;

/**
 * @example
 * const files = await connectMcp({ name: 'files', stdio: { command: 'files-server', args: ['.'] } });
 * const agent = createAgent({ provider, tools: files.tools });
 */
export async function connectMcp(server: McpServer, options: McpOptions = {}): Promise<McpTools> {
  checkServer(server);
  const settings = completeOptions(options, server.http !== undefined);
  const { connectTimeoutMs: timeoutMs } = settings;
  const redact = redactorOf(server);
  const link = new ServerLink(server.name, open);
  const report = (problem: string) => {
    try {
      settings.onProblem?.(clip(redact(`MCP server ${server.name}: ${problem}`), maxProblemLength));
    } catch {
      // Who throws here is not told of it.
    }
  };
  const remote: Remote = { server: server.name, link, settings, redact, report };
  const shelf = new ToolShelf(remote);
  const lists = new ListKeeper({
    shelf,
    closing: link.closing,
    timeoutMs,
    onChange: () => settings.onChange?.(shelf.tools),
    onProblem: (error) => report(explain(error)),
  });

  async function open(closing: AbortSignal): Promise<Connection> {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
    const onListChanged = (connection: Connection) => lists.readAgain(connection);
    try {
      const connection = await openConnection(server, settings, { signal, onListChanged });
      // A server that is started again may be another version of itself.
      if (shelf.isFilled) lists.readAgain(connection);
      return connection;
    } catch (error) {
      closing.throwIfAborted();
      throw cannotConnect(server, error, timeoutMs);
    }
  }

  const { instructions } = await firstConnection(link, lists, (error) =>
    cannotConnect(server, error, timeoutMs),
  );
  return {
    get tools() {
      return shelf.tools;
    },
    instructions: instructions && clip(instructions, maxInstructionsLength),
    close: () => link.close(),
  };
}

/** A server without a list is of no use, and does not stay. */
async function firstConnection(
  link: ServerLink,
  lists: ListKeeper,
  failure: (error: unknown) => Error,
): Promise<Connection> {
  const connection = await link.acquire(link.closing);
  try {
    await lists.read(connection);
    return connection;
  } catch (error) {
    const lastWords = connection.lastWords();
    await link.close();
    throw failure(new ConnectError(error, lastWords));
  }
}
