import type { ConnectionOptions } from 'node:tls';
import { Redis } from 'ioredis';
import { LogError } from '../contract/log-error.ts';
import { decodeUrlPart } from '../engine/check-options.ts';

/** Connection settings for Redis. They can be used instead of a URL, or in addition to it. */
export interface RedisConnection {
  /** The host name or address. Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** The port number. Default: 6379. */
  readonly port?: number | undefined;
  /** Path of a Unix socket. Default: none, which means TCP. */
  readonly path?: string | undefined;
  /** The user name. Default: none. */
  readonly username?: string | undefined;
  /** The password. Default: none. */
  readonly password?: string | undefined;
  /** Number of the database. Default: 0. */
  readonly db?: number | undefined;
  /** TLS settings. Default: no TLS, or TLS for a `rediss:` URL. */
  readonly tls?: ConnectionOptions | undefined;
}

/** A Redis server, with a name for messages that contains no secrets. */
export interface RedisTarget {
  readonly connection: RedisConnection;
  readonly name: string;
}

/**
 * Combines a URL with separate settings. The URL can be `redis://user:password@host:6379/0`, or the path of
 * a socket.
 */
export function redisTarget(url: string | undefined, given: RedisConnection = {}): RedisTarget {
  const connection = { ...(url === undefined ? {} : parseUrl(url)), ...given };
  const { host = '127.0.0.1', port = 6379, path, db = 0 } = connection;
  return { connection, name: path ?? `${host}:${port}/${db}` };
}

function parseUrl(text: string): RedisConnection {
  if (text.startsWith('/')) return { path: text };
  // The error must not contain the URL, because the URL may contain the password.
  if (!URL.canParse(text)) throw badUrl('it is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:')
    throw badUrl('its protocol is not redis: or rediss:');
  if (url.hash !== '') throw badUrl('write # as %23 in the user and password');
  const db = url.pathname.slice(1);
  if (!/^\d{0,4}$/.test(db)) throw badUrl('its path is not a database number');
  return {
    host: url.hostname === '' ? '127.0.0.1' : url.hostname.replace(/^\[|\]$/g, ''),
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    ...(url.username === '' ? {} : { username: decodeUrlPart(url.username) }),
    ...(url.password === '' ? {} : { password: decodeUrlPart(url.password) }),
    ...(db === '' ? {} : { db: Number(db) }),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

function badUrl(why: string): LogError {
  const message = `Cannot use the URL of the Redis bus: ${why}. Write it as redis://host:6379/0`;
  return new LogError('bad_option', message);
}

const minPauseMs = 50;
const maxPauseMs = 2_000;
/** If a connection lasted at least this time, the next reconnect uses the shortest pause again. */
const stableMs = 2_000;

export interface ConnectionEvents {
  /** Called when a new connection has answered. */
  up(client: Redis): void;
  down(reason: string): void;
}

/**
 * A connection that reconnects after each loss, each time with a new client. Commands without an answer are
 * dropped together with their client. The class does not use the reconnect of ioredis, because ioredis waits
 * until the server closes the connection, and a stopped server never does this.
 */
export class ReconnectingClient {
  readonly #target: RedisTarget;
  readonly #timeoutMs: number;
  readonly #events: ConnectionEvents;
  #client: Redis | undefined;
  /** The reason why this class dropped the current client. */
  #dropReason: unknown;
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(target: RedisTarget, timeoutMs: number, events: ConnectionEvents) {
    this.#target = target;
    this.#timeoutMs = timeoutMs;
    this.#events = events;
    void this.#keepConnected();
  }

  /** The current client. `undefined` while there is no connection. */
  get client(): Redis | undefined {
    return this.#client;
  }

  /** Closes the client, so that a new client connects. `why` is the reason for the diagnostic message. */
  drop(client: Redis, why?: unknown): void {
    this.#dropReason ??= why;
    client.disconnect();
    // Destroys the socket without waiting for the server, which may never answer.
    client.stream?.destroy();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#client !== undefined) this.drop(this.#client);
    this.#wake?.();
  }

  async #keepConnected(): Promise<void> {
    let failures = 0;
    while (!this.#isClosed) {
      const began = performance.now();
      const reason = await this.#connectOnce();
      if (this.#isClosed) return;
      this.#events.down(reason);
      failures = performance.now() - began > stableMs + this.#timeoutMs ? 0 : failures + 1;
      await this.#pause(Math.min(maxPauseMs, minPauseMs * 2 ** Math.min(failures, 10)));
    }
  }

  /** Connects one client and waits until its connection ends. Returns the reason for the end. */
  async #connectOnce(): Promise<string> {
    const { port = 6379, path, ...others } = this.#target.connection;
    const where = path === undefined ? { port } : { path };
    const client = new Redis({ ...others, ...where, ...fixedClientOptions });
    let why: unknown;
    client.on('error', (error) => {
      why ??= error;
    });
    const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
    try {
      await withTimeout(this.#timeoutMs, client.connect());
      if (this.#isClosed) throw new Error('closed');
    } catch (error) {
      this.drop(client);
      return safeReason(why ?? error);
    }
    this.#client = client;
    this.#events.up(client);
    await ended;
    this.#client = undefined;
    const dropped = this.#dropReason;
    this.#dropReason = undefined;
    return safeReason(why ?? dropped ?? new Error('cut'));
  }

  async #pause(ms: number): Promise<void> {
    // The pause is random, so that not all processes reconnect at the same moment.
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

/** Options that stop ioredis from reconnecting, because this module reconnects itself. */
const fixedClientOptions = {
  lazyConnect: true,
  retryStrategy: null,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // The time in milliseconds for which a lost connection keeps the process alive.
  disconnectTimeout: 10,
} as const;

/** Returns the result of the promise. Rejects with `NoAnswerError` after the timeout. */
export async function withTimeout<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswerError(timeoutMs)), timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns the reason of an error as a text without secrets. Error messages of ioredis contain the command,
 * which may contain the password.
 */
export function safeReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  // An error reply of Redis begins with a code such as WRONGPASS, NOAUTH, OOM or LOADING.
  const [word] = /^[A-Z]{2,}\b/.exec(error.message) ?? [];
  return word ?? (error instanceof NoAnswerError ? error.message : 'the connection was cut');
}

/** Thrown when Redis did not answer within the timeout. */
class NoAnswerError extends Error {
  constructor(timeoutMs: number) {
    super(`no answer in ${timeoutMs} ms`);
  }
}
