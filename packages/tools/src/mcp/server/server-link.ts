import { abortable } from '../../abortable.ts';
import { McpError } from '../../contract/mcp-error.ts';
import type { Connection } from './connection.ts';

/** Keeps one open connection to a server. If the current connection is closed, it opens a new one. */
export class ServerLink {
  readonly #name: string;
  readonly #open: (signal: AbortSignal) => Promise<Connection>;
  readonly #closing = new AbortController();
  // All connections. New calls use the newest connection, but older connections may still have running calls.
  readonly #connections = new Set<Connection>();
  #current: Connection | undefined;
  // The connection that is being opened. All waiting calls share it, so the server is started only once.
  #opening: Promise<Connection> | undefined;

  constructor(name: string, open: (signal: AbortSignal) => Promise<Connection>) {
    this.#name = name;
    this.#open = open;
  }

  /** The signal aborts when `close()` is called. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Returns the open connection. If there is none, it makes one attempt to open a connection. */
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
