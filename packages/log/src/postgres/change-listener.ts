import { parseJson, type SessionId } from '@millrace/core';
import type { Client } from 'pg';
import { type Database, soon } from './database/database.ts';

type Heard = (sessions?: readonly SessionId[]) => void;

const pausesMs = { first: 50, longest: 5000 };

/**
 * Hears from Postgres when other processes have committed. Notices are hints: what is lost with a
 * connection is made up for by looking, each time that one is made and now and then.
 */
export class Listener {
  readonly #database: Database;
  /** Whose notices say nothing new here. */
  readonly #own: string;
  readonly #pollMs: number;
  readonly #heard = new Set<Heard>();
  #stop: (() => Promise<void>) | undefined;

  constructor(database: Database, own: string, pollMs: number) {
    this.#database = database;
    this.#own = own;
    this.#pollMs = pollMs;
  }

  watch(heard: Heard): () => void {
    this.#heard.add(heard);
    this.#stop ??= this.#start();
    return () => {
      this.#heard.delete(heard);
      if (this.#heard.size === 0) void this.close();
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
    const poll = setInterval(() => this.#tell(), this.#pollMs);
    const listening = this.#listen(() => isOver, ended.promise);
    return async () => {
      isOver = true;
      clearInterval(poll);
      ended.resolve();
      await listening;
    };
  }

  /** One connection after another, until it is over. */
  async #listen(isOver: () => boolean, over: Promise<void>): Promise<void> {
    let pauseMs = pausesMs.first;
    while (!isOver() && !this.#database.isClosed) {
      let client: Client | undefined;
      try {
        client = await this.#database.connect();
        const lost = new Promise<void>((resolve) => client?.once('end', () => resolve()));
        client.on('notification', ({ payload }) => this.#take(payload ?? ''));
        await client.query(`LISTEN ${channelOf(this.#database.target.schema)}`);
        pauseMs = pausesMs.first;
        // Of what was committed before, nobody told.
        this.#tell();
        await Promise.race([lost, over]);
      } catch {
        // It is tried again, and until then there is the look now and then.
      }
      if (client !== undefined) await soon(client.end());
      if (!isOver()) await Promise.race([this.#database.pause(pauseMs), over]);
      pauseMs = Math.min(2 * pauseMs, pausesMs.longest);
    }
  }

  #take(text: string): void {
    const { from, sessions } = readNotice(text);
    if (from !== this.#own) this.#tell(sessions);
  }

  #tell(sessions?: readonly SessionId[]): void {
    for (const heard of this.#heard) heard(sessions);
  }
}

/** What is said to other processes when a transaction is committed. A hint: it may be lost. */
interface Notice {
  readonly from: string;
  /** Undefined where they were too many to name. */
  readonly sessions: readonly SessionId[] | undefined;
}

/** Postgres takes 8000 bytes. */
const maxBytes = 7900;

export function channelOf(schema: string): string {
  return `millrace_${schema}`;
}

export function noticeText(from: string, sessions: readonly SessionId[]): string {
  const text = JSON.stringify({ from, sessions });
  return Buffer.byteLength(text) <= maxBytes ? text : JSON.stringify({ from });
}

/** Whatever cannot be read was meant for all. */
function readNotice(text: string): Notice {
  const parsed = parseJson(text);
  const value = parsed.ok ? parsed.value : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { from: '', sessions: undefined };
  const { from, sessions } = value as { readonly from?: unknown; readonly sessions?: unknown };
  const named = Array.isArray(sessions) ? (sessions as readonly SessionId[]) : undefined;
  return { from: String(from), sessions: named };
}
