import { parseJson, type SessionId } from '@millrace/core';
import type { Client } from 'pg';
import { type Database, waitBriefly } from './database/database.ts';

type OnChange = (sessions?: readonly SessionId[]) => void;

const reconnectPausesMs = { first: 50, longest: 5000 };

/**
 * Listens for commits of other processes. A notice can be lost together with its connection. The listener
 * therefore also reports a possible change after each connect, and at a regular interval. With a connection
 * pooler, the listener uses only the interval.
 */
export class ChangeListener {
  readonly #database: Database;
  /** The id of this process's writer. Its own notices are ignored. */
  readonly #ownWriter: string;
  readonly #pollMs: number;
  readonly #listeners = new Set<OnChange>();
  #stop: (() => Promise<void>) | undefined;

  constructor(database: Database, own: string, pollMs: number) {
    this.#database = database;
    this.#ownWriter = own;
    this.#pollMs = pollMs;
  }

  watch(listener: OnChange): () => void {
    this.#listeners.add(listener);
    this.#stop ??= this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) void this.close();
    };
  }

  async close(): Promise<void> {
    const stop = this.#stop;
    this.#stop = undefined;
    await stop?.();
  }

  #start(): () => Promise<void> {
    const ended = Promise.withResolvers<void>();
    let isOver = false;
    const poll = setInterval(() => this.#notify(), this.#pollMs);
    const listening = this.#listen(() => isOver, ended.promise);
    return async () => {
      isOver = true;
      clearInterval(poll);
      ended.resolve();
      await listening;
    };
  }

  /**
   * Connects, and reconnects after each loss, until it is stopped. Returns early if the server cannot send
   * notifications.
   */
  async #listen(isOver: () => boolean, over: Promise<void>): Promise<void> {
    let pauseMs = reconnectPausesMs.first;
    while (!isOver() && !this.#database.isClosed) {
      let client: Client | undefined;
      try {
        client = await this.#database.connectDirectly();
        if (client === undefined) return;
        const lost = new Promise<void>((resolve) => client?.once('end', () => resolve()));
        client.on('notification', ({ payload }) => this.#receive(payload ?? ''));
        await client.query(`LISTEN ${channelOf(this.#database.target.schema)}`);
        pauseMs = reconnectPausesMs.first;
        // This connection does not report commits from before its start, so all sessions may have changed.
        this.#notify();
        await Promise.race([lost, over]);
      } catch {
        // The loop reconnects. In the meantime, the regular interval finds changes.
      }
      if (client !== undefined) await waitBriefly(client.end());
      if (!isOver()) await Promise.race([this.#database.pause(pauseMs), over]);
      pauseMs = Math.min(2 * pauseMs, reconnectPausesMs.longest);
    }
  }

  #receive(text: string): void {
    const { from, sessions } = parseNotice(text);
    if (from !== this.#ownWriter) this.#notify(sessions);
  }

  #notify(sessions?: readonly SessionId[]): void {
    for (const listener of this.#listeners) listener(sessions);
  }
}

/** The message that each commit sends to other processes. The message may be lost. */
interface ChangeNotice {
  readonly from: string;
  /** The sessions that changed. `undefined` if there are too many for one message. */
  readonly sessions: readonly SessionId[] | undefined;
}

/** Maximum size of a message. Postgres allows 8000 bytes per notification. */
const maxBytes = 7900;

export function channelOf(schema: string): string {
  return `millrace_${schema}`;
}

export function encodeNotice(from: string, sessions: readonly SessionId[]): string {
  const text = JSON.stringify({ from, sessions });
  return Buffer.byteLength(text) <= maxBytes ? text : JSON.stringify({ from });
}

/** Parses a notification. A text that cannot be parsed counts as a change to all sessions. */
function parseNotice(text: string): ChangeNotice {
  const parsed = parseJson(text);
  const value = parsed.ok ? parsed.value : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { from: '', sessions: undefined };
  const { from, sessions } = value as { readonly from?: unknown; readonly sessions?: unknown };
  const named = Array.isArray(sessions) ? (sessions as readonly SessionId[]) : undefined;
  return { from: String(from), sessions: named };
}
