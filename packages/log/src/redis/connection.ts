import { Redis } from 'ioredis';
import { reasonOf } from './bus-diagnostic.ts';
import type { RedisTarget } from './redis-target.ts';
import { within } from './within.ts';

const shortestPauseMs = 50;
const longestPauseMs = 2_000;
/** One that lived so long was a good one: the next pause is the shortest again. */
const steadyMs = 2_000;

export interface ConnectionEvents {
  /** It answers; until it is cut. */
  up(client: Redis): void;
  down(reason: string): void;
}

/**
 * One connection, made again whenever it is cut, each time by a client of its own: what one client had
 * asked and was not told dies with it. Those of ioredis wait for a stopped server to say goodbye.
 */
export class Connection {
  readonly #target: RedisTarget;
  readonly #timeoutMs: number;
  readonly #events: ConnectionEvents;
  #client: Redis | undefined;
  /** Why the one that is there was dropped. */
  #why: unknown;
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(target: RedisTarget, timeoutMs: number, events: ConnectionEvents) {
    this.#target = target;
    this.#timeoutMs = timeoutMs;
    this.#events = events;
    void this.#keep();
  }

  /** Where it is up. */
  get client(): Redis | undefined {
    return this.#client;
  }

  /** It is of no use: the next one, please. With the reason, where there is one to be told. */
  drop(client: Redis, why?: unknown): void {
    this.#why ??= why;
    client.disconnect();
    // Without waiting for the other side, which may never say anything again.
    client.stream?.destroy();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#client !== undefined) this.drop(this.#client);
    this.#wake?.();
  }

  async #keep(): Promise<void> {
    let failures = 0;
    while (!this.#isClosed) {
      const began = performance.now();
      const reason = await this.#live();
      if (this.#isClosed) return;
      this.#events.down(reason);
      failures = performance.now() - began > steadyMs + this.#timeoutMs ? 0 : failures + 1;
      await this.#pause(Math.min(longestPauseMs, shortestPauseMs * 2 ** Math.min(failures, 10)));
    }
  }

  /** From a new client to its end. */
  async #live(): Promise<string> {
    const { port = 6379, path, ...others } = this.#target.connection;
    const where = path === undefined ? { port } : { path };
    const client = new Redis({ ...others, ...where, ...fixed });
    let why: unknown;
    client.on('error', (error) => {
      why ??= error;
    });
    const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
    try {
      await within(this.#timeoutMs, client.connect());
      if (this.#isClosed) throw new Error('closed');
    } catch (error) {
      this.drop(client);
      return reasonOf(why ?? error);
    }
    this.#client = client;
    this.#events.up(client);
    await ended;
    this.#client = undefined;
    const dropped = this.#why;
    this.#why = undefined;
    return reasonOf(why ?? dropped ?? new Error('cut'));
  }

  async #pause(ms: number): Promise<void> {
    // Not all processes at the same moment.
    const some = ms * (0.5 + Math.random() / 2);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, some);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** What is done about lost connections is done here. */
const fixed = {
  lazyConnect: true,
  retryStrategy: null,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // It keeps a process alive for so long after its connection is gone.
  disconnectTimeout: 10,
} as const;
