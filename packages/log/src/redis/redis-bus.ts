import { type SessionId, sessionId } from '@millrace/core';
import type { Redis } from 'ioredis';
import type { Bus, BusListener, BusNotice } from '../contract/bus.ts';
import { LogError } from '../contract/log-error.ts';
import { assertNames } from '../engine/check-options.ts';
import {
  type BusDiagnostic,
  type BusKeys,
  type BusLimits,
  busKeys,
  defaultBusLimits,
  type OnBusDiagnostic,
} from './bus-options.ts';
import {
  ReconnectingClient,
  type RedisConnection,
  redisTarget,
  safeReason,
  withTimeout,
} from './connection.ts';
import { Listeners, StreamReader } from './stream-reader.ts';
import { StreamWriter } from './stream-writer.ts';

/** Options of `redisBus`. */
export interface RedisBusOptions extends Partial<BusLimits> {
  /**
   * The server: `redis://user:password@host:6379/0`, `rediss://…`, or the path of a Unix socket. Default:
   * localhost, port 6379.
   */
  readonly url?: string | undefined;
  /** Connection settings. They override the URL. Default: none. */
  readonly connection?: RedisConnection | undefined;
  /** Prefix of every key. Default: `millrace:`. */
  readonly prefix?: string | undefined;
  /** Called for outages and other unusual events. Default: none. */
  readonly onDiagnostic?: ((diagnostic: BusDiagnostic) => void) | undefined;
}

/** The interval in milliseconds at which followers read the store while Redis is unreachable. */
const outagePollMs = 1_000;
/**
 * The time in milliseconds that a connection must last before the bus reports that Redis is reachable again.
 * A shorter time is not enough, because a server may accept a connection and then refuse every command.
 */
const stableMs = 1_000;

/**
 * Publishes committed records through Redis Streams. Each session has one stream, which is limited in length
 * and expires. Each log needs its own bus, because a bus ignores its own notices. The bus uses two
 * connections for any number of followers.
 */
export class RedisBus implements Bus {
  /** The address of the server, without user and password. */
  readonly name: string;
  readonly #limits: BusLimits;
  readonly #prefix: string;
  readonly #keys: BusKeys;
  readonly #listeners = new Listeners();
  readonly #onDiagnostic: OnBusDiagnostic;
  readonly #writing: ReconnectingClient;
  readonly #reading: ReconnectingClient;
  readonly #writer: StreamWriter;
  readonly #reader: StreamReader;
  /** A timer that makes followers read the store while the reader is disconnected. */
  #poll: NodeJS.Timeout | undefined;
  #stableTimer: NodeJS.Timeout | undefined;
  #lastReason = 'not connected yet';
  #isOutageReported = false;
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  constructor({ url, connection, prefix, onDiagnostic, ...limits }: RedisBusOptions) {
    const target = redisTarget(url, connection);
    this.name = target.name;
    this.#limits = { ...defaultBusLimits, ...limits };
    this.#prefix = prefix ?? 'millrace:';
    this.#keys = busKeys(this.#prefix);
    this.#onDiagnostic = (diagnostic) => onDiagnostic?.(diagnostic);
    const { timeoutMs } = this.#limits;
    this.#writing = new ReconnectingClient(target, timeoutMs, {
      up: () => this.#handleUp(() => this.#writer.resume()),
      down: (reason) => this.#handleDown(reason),
    });
    this.#reading = new ReconnectingClient(target, timeoutMs, {
      up: (client) => this.#handleUp(() => void this.#read(client)),
      down: (reason) => {
        this.#startPoll();
        this.#handleDown(reason);
      },
    });
    const report = this.#onDiagnostic;
    this.#writer = new StreamWriter(this.#writing, this.#keys, this.#limits, report);
    this.#reader = new StreamReader(this.#listeners, this.#keys, this.#limits, report);
    this.#startPoll();
  }

  /** The number of bytes that were sent and not yet answered, for measurements. */
  get pendingBytes(): number {
    return this.#writer.pendingBytes;
  }

  /** Resolves when Redis answers. Rejects after the timeout. */
  async connected(timeoutMs: number = this.#limits.timeoutMs): Promise<void> {
    if (this.#isConnected) return;
    let done: () => void = () => {};
    const up = new Promise<void>((resolve) => {
      done = resolve;
      this.#waiting.add(done);
    });
    const isUp = await withTimeout(timeoutMs, up).then(
      () => true,
      () => false,
    );
    this.#waiting.delete(done);
    if (!isUp) throw this.#unreachableError();
  }

  /**
   * Resolves when Redis answers and allows this user all commands that the bus needs. Rejects otherwise, for
   * example for a replica or a read-only user. The check stores no data.
   */
  async usable(timeoutMs: number = this.#limits.timeoutMs): Promise<void> {
    await this.connected(timeoutMs);
    const { client } = this.#writing;
    if (client === undefined) throw this.#unreachableError();
    // The check uses new keys, so that it does not affect existing data.
    const asked = findRefusedCommand(client, busKeys(this.#prefix));
    const refused = await withTimeout(timeoutMs, asked).catch((error: unknown) => {
      this.#lastReason = safeReason(error);
      throw this.#unreachableError();
    });
    if (refused !== undefined) throw this.#unusableError(refused);
  }

  publish(notice: BusNotice): void {
    if (!this.#isClosed) this.#writer.send(notice.session, notice);
  }

  forget(session: SessionId): void {
    if (!this.#isClosed) this.#writer.send(session, 'gone');
  }

  subscribe(session: SessionId, listener: BusListener): () => void {
    if (this.#isClosed) return () => {};
    const isFirst = this.#listeners.add(session, listener);
    // The bus already reads the stream of this session, so only the new listener must read the store once.
    if (!isFirst) queueMicrotask(() => listener.missed());
    else if (this.#reader.changed()) this.#writer.wake();
    return () => this.#listeners.remove(session, listener);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listeners.clear();
    clearInterval(this.#poll);
    clearTimeout(this.#stableTimer);
    const { timeoutMs } = this.#limits;
    // Waits a short time for the answers to pending commands.
    await withTimeout(Math.min(timeoutMs, 1_000), this.#writer.drained()).catch(() => {});
    this.#writer.close();
    this.#writing.close();
    this.#reading.close();
  }

  get #isConnected(): boolean {
    return this.#writing.client !== undefined && this.#reading.client !== undefined;
  }

  #handleUp(then: () => void): void {
    then();
    if (!this.#isConnected) return;
    for (const done of this.#waiting) done();
    if (this.#isOutageReported)
      this.#stableTimer = setTimeout(() => this.#reportReachable(), stableMs).unref();
  }

  #reportReachable(): void {
    this.#isOutageReported = false;
    this.#onDiagnostic({ code: 'reachable', message: `Redis at ${this.name} answers again` });
  }

  #handleDown(reason: string): void {
    this.#lastReason = reason;
    clearTimeout(this.#stableTimer);
    if (this.#isOutageReported || this.#isClosed) return;
    this.#isOutageReported = true;
    this.#onDiagnostic({ code: 'unreachable', message: this.#unreachableError().message });
  }

  async #read(client: Redis): Promise<void> {
    clearInterval(this.#poll);
    try {
      await this.#reader.read(client);
    } catch (error) {
      this.#reading.drop(client, error);
    }
  }

  #startPoll(): void {
    if (this.#isClosed) return;
    clearInterval(this.#poll);
    this.#listeners.missedAll();
    this.#poll = setInterval(() => this.#listeners.missedAll(), outagePollMs).unref();
  }

  #unreachableError(): LogError {
    const message = `Redis at ${this.name} does not answer (${this.#lastReason}): followers read the store until it does`;
    return new LogError('storage', message);
  }

  #unusableError({ command, reason }: RefusedCommand): LogError {
    const message = `Cannot use Redis at ${this.name} as a bus: it refuses ${command} (${reason}). Use a server that accepts writes and a user with the rights for ${busCommands} on the keys ${this.#prefix}*`;
    return new LogError('storage', message, { bus: this.name, command, reason });
  }
}

/**
 * Creates a bus on Redis. Redis does not have to be reachable at this time. Call `connected` to check the
 * connection.
 *
 * @example const bus = redisBus({ url: 'redis://localhost:6379/0' });
 */
export function redisBus(options: RedisBusOptions = {}): RedisBus {
  assertNames('redisBus', options, {
    ...{ url: true, connection: true, prefix: true, onDiagnostic: true, maxLength: true },
    ...{ maxBytes: true, expiresMs: true, timeoutMs: true, maxPendingBytes: true },
  });
  return new RedisBus(options);
}

/** All commands that the bus uses. Error messages contain this list. */
const busCommands = 'XADD, PEXPIRE, SET, XREVRANGE and XREAD';

/** A command that Redis refuses for this user, with the error code. */
interface RefusedCommand {
  readonly command: string;
  readonly reason: string;
}

/**
 * Tries every command of the bus and returns the first command that Redis refuses. The commands change no
 * data, because they only change existing keys, and their keys do not exist.
 */
async function findRefusedCommand(
  client: Redis,
  keys: BusKeys,
): Promise<RefusedCommand | undefined> {
  const stream = keys.stream(sessionId(keys.origin));
  const asked = [
    ['XADD', stream, 'NOMKSTREAM', 'MAXLEN', '=', 1, '*', 'try', ''],
    ['XADD', keys.wake, 'NOMKSTREAM', 'MAXLEN', '=', 1, '*', 'try', ''],
    ['PEXPIRE', stream, 1],
    ['SET', keys.mark, '', 'PX', 1, 'XX'],
    ['XREVRANGE', stream, '+', '-', 'COUNT', 1],
    ['XREAD', 'COUNT', 1, 'STREAMS', keys.wake, stream, '0-0', '0-0'],
  ] as const;
  const pipeline = client.pipeline();
  for (const [command, ...args] of asked) pipeline.call(command, ...args);
  const replies = (await pipeline.exec()) ?? [];
  for (const [index, [command]] of asked.entries()) {
    const [error] = replies[index] ?? [new Error('cut')];
    if (error === null) continue;
    // The error is not a reply of Redis, so the connection was lost before Redis answered.
    if (error.name !== 'ReplyError') throw error;
    if (isRefusal(error)) return { command, reason: safeReason(error) };
  }
  return undefined;
}

/**
 * Returns whether the error means that the user may not run the command. Redis before 6.2 reports the
 * unknown option NOMKSTREAM as a syntax error, which is not a refusal.
 */
function isRefusal({ message }: Error): boolean {
  return !message.startsWith('ERR ') || message.startsWith('ERR unknown command');
}
