import type { Tool } from '@millrace/agent';
import { completeOptions, type McpOptions } from '../contract/mcp-options.ts';
import { checkServer, type McpServer } from '../contract/mcp-server.ts';
import { ToolShelf } from './remote-tools.ts';
import type { Remote } from './server/call-tool.ts';
import {
  ConnectError,
  type Connection,
  cannotConnect,
  openConnection,
} from './server/connection.ts';
import { ServerLink } from './server/server-link.ts';
import { clip, explain, redactorOf } from './transport/text.ts';

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

interface Keeping {
  readonly shelf: ToolShelf;
  /** Aborts when there is nothing left to keep. */
  readonly closing: AbortSignal;
  readonly timeoutMs: number;
  readonly onChange: () => void;
  readonly onProblem: (error: unknown) => void;
}

/** Reads the lists of a server's tools, one after the other, so that an older never follows a newer one. */
export class ListKeeper {
  readonly #keeping: Keeping;
  #work: Promise<void> = Promise.resolve();
  // However often it changed meanwhile, it is read once more.
  #next: Connection | undefined;

  constructor(keeping: Keeping) {
    this.#keeping = keeping;
  }

  /** The first list: without it there is nothing to use, and so it throws. */
  async read(connection: Connection): Promise<void> {
    const reading = this.#work.then(() => this.#list(connection));
    this.#work = reading.then(
      () => {},
      () => {},
    );
    await reading;
  }

  readAgain(connection: Connection): void {
    const isWaiting = this.#next !== undefined;
    this.#next = connection;
    if (!isWaiting) this.#work = this.#work.then(() => this.#listNext());
  }

  async #listNext(): Promise<void> {
    const connection = this.#next;
    this.#next = undefined;
    const { closing, onChange, onProblem } = this.#keeping;
    try {
      if (connection !== undefined && (await this.#list(connection))) onChange();
    } catch (error) {
      if (!closing.aborted) onProblem(error);
    }
  }

  async #list(connection: Connection): Promise<boolean> {
    const { shelf, closing, timeoutMs } = this.#keeping;
    const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
    const listed = await connection.listTools(signal, (problem) => shelf.tell(problem));
    const isOther = shelf.fill(listed);
    return isOther && !closing.aborted;
  }
}
