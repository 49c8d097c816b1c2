import { abortable } from '../../abortable.ts';
import { McpError } from '../../contract/mcp-error.ts';
import type { Connection } from './connection.ts';

/** Keeps one connection to a server, and makes the next when that is gone. */
export class ServerLink {
  readonly #name: string;
  readonly #open: (signal: AbortSignal) => Promise<Connection>;
  readonly #closing = new AbortController();
  // The newest is used; older ones may have calls to finish.
  readonly #connections = new Set<Connection>();
  #current: Connection | undefined;
  // All who wait for it share one, so that a server is not started once for each call.
  #opening: Promise<Connection> | undefined;

  constructor(name: string, open: (signal: AbortSignal) => Promise<Connection>) {
    this.#name = name;
    this.#open = open;
  }

  /** Aborts with `close()`. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** The connection, if it stands, or a new one: one try for each who asks. */
  async acquire(signal: AbortSignal): Promise<Connection> {
    if (this.#closing.signal.aborted) throw closedError(this.#name);
    signal.throwIfAborted();
    if (this.#current?.isOpen() === true) return this.#current;
    this.#opening ??= this.#reopen();
    return abortable(this.#opening, signal);
  }

  async close(): Promise<void> {
    this.#closing.abort(closedError(this.#name));
    await this.#opening?.catch(() => {});
    await Promise.all([...this.#connections].map((connection) => this.#end(connection)));
  }

  async #end(connection: Connection): Promise<void> {
    await connection.close();
    this.#connections.delete(connection);
  }

  async #reopen(): Promise<Connection> {
    try {
      const connection = await this.#open(this.#closing.signal);
      for (const old of this.#connections) if (old.isClosed()) void this.#end(old);
      this.#connections.add(connection);
      this.#current = connection;
      return connection;
    } finally {
      this.#opening = undefined;
    }
  }
}

function closedError(name: string): McpError {
  const message = `Cannot use MCP server ${name}: it was closed. Connect again`;
  return new McpError('closed', message, { server: name });
}
