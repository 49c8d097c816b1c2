import type { SessionId } from '@millrace/core';
import type { Redis } from 'ioredis';
import type { BusNotice } from '../contract/bus.ts';
import type { BusKeys, BusLimits, OnBusDiagnostic } from './bus-options.ts';
import { type Connection, within } from './connection.ts';
import { encodeNotice } from './notice-codec.ts';

/** What is to be said of a session: a notice, or that it is gone. */
type Said = BusNotice | 'gone';

interface Order {
  readonly session: SessionId;
  readonly said: Said;
  readonly fields: readonly string[];
  readonly bytes: number;
}

/** Sessions whose last word could not be sent; what there is of them is told when Redis is there again. */
const maxUntold = 10_000;
const retryMs = 1_000;
/** Who follows a session that is gone has so long to hear of it. */
const goneMs = 5_000;
/** About what a command takes besides its fields. */
const bytesAround = 200;

/**
 * Sends what was committed, all of a moment in one go. Nothing waits here for a server that is not
 * there: of what cannot be sent only the last word of each session is kept, without records.
 */
export class StreamWriter {
  readonly #keys: BusKeys;
  readonly #limits: BusLimits;
  readonly #onDiagnostic: OnBusDiagnostic;
  readonly #connection: Connection;
  /** Of this moment. */
  #orders: Order[] = [];
  #isScheduled = false;
  /** Given and not answered. */
  #pendingBytes = 0;
  #sent: Promise<void> = Promise.resolve();
  readonly #untold = new Map<SessionId, Said>();
  #retry: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(
    connection: Connection,
    keys: BusKeys,
    limits: BusLimits,
    onDiagnostic: OnBusDiagnostic,
  ) {
    this.#connection = connection;
    this.#keys = keys;
    this.#limits = limits;
    this.#onDiagnostic = onDiagnostic;
  }

  /** What is given and was not answered, for those who measure. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  say(session: SessionId, said: Said): void {
    const { maxBytes, maxPendingBytes } = this.#limits;
    const isFull = this.#pendingBytes >= maxPendingBytes;
    if (isFull) this.#tellDropped();
    if (isFull || this.#connection.client === undefined) return this.#keepWord(session, said);
    // It says all that could not be said before.
    this.#untold.delete(session);
    this.#order(session, said, maxBytes);
  }

  /** Wakes the reader of this process. */
  wake(): void {
    const { client } = this.#connection;
    if (client === undefined) return;
    const { wake } = this.#keys;
    const woken = client
      .pipeline()
      .xadd(wake, 'MAXLEN', '=', 1, '*', 'wake', '')
      .pexpire(wake, 60_000);
    void woken.exec().catch(() => {});
  }

  /** Redis is there again. */
  resume(): void {
    const untold = [...this.#untold];
    this.#untold.clear();
    for (const [session, said] of untold) this.#order(session, said, 0);
  }

  /** When all was answered that is on its way. */
  async settled(): Promise<void> {
    this.#flush();
    await this.#sent;
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#untold.clear();
  }

  #order(session: SessionId, said: Said, maxBytes: number): void {
    const body = said === 'gone' ? ['gone', '1'] : encodeNotice(said, maxBytes);
    const fields = ['from', this.#keys.origin, ...body];
    const bytes = fields.reduce((sum, text) => sum + text.length, bytesAround);
    this.#pendingBytes += bytes;
    this.#orders.push({ session, said, fields, bytes });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const orders = this.#orders;
    if (orders.length === 0) return;
    this.#orders = [];
    const before = this.#sent;
    this.#sent = Promise.all([before, this.#send(orders)]).then(() => {});
  }

  async #send(orders: readonly Order[]): Promise<void> {
    const { client } = this.#connection;
    const failed = client === undefined ? orders : await this.#exec(client, orders);
    for (const { bytes } of orders) this.#pendingBytes -= bytes;
    for (const { session, said } of failed) this.#keepWord(session, said);
    if (failed.length === 0) return;
    // Where Redis is there and does not take it; where it is not, `resume` comes first.
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      if (this.#connection.client !== undefined) this.resume();
    }, retryMs).unref();
  }

  /** Gives those that did not get there. */
  async #exec(client: Redis, orders: readonly Order[]): Promise<readonly Order[]> {
    const { maxLength, expiresMs, timeoutMs } = this.#limits;
    const pipeline = client.pipeline();
    for (const { session, said, fields } of orders) {
      const key = this.#keys.stream(session);
      const isGone = said === 'gone';
      const bound = isGone ? (['=', 1] as const) : (['~', maxLength] as const);
      pipeline.xadd(key, 'MAXLEN', ...bound, '*', ...fields);
      pipeline.pexpire(key, isGone ? goneMs : expiresMs);
    }
    try {
      const replies = (await within(timeoutMs, pipeline.exec())) ?? [];
      const failed = orders.filter((_, index) => replies[2 * index]?.[0] !== null);
      if (failed.length > 0) this.#tellDropped(failed.length);
      return failed;
    } catch {
      this.#connection.drop(client);
      return orders;
    }
  }

  #keepWord(session: SessionId, said: Said): void {
    if (!this.#untold.has(session) && this.#untold.size >= maxUntold) return this.#tellDropped();
    const word = said === 'gone' ? said : { ...said, records: [] };
    this.#untold.set(session, word);
  }

  /** At 1, 2, 4, 8 …: a flood is not answered with another. */
  #tellDropped(count = 1): void {
    const before = this.#dropped;
    this.#dropped += count;
    if (Math.clz32(before) === Math.clz32(this.#dropped)) return;
    const message = `${this.#dropped} copies went to nobody so far: Redis is too slow or takes nothing. Readers look at the store`;
    this.#onDiagnostic({ code: 'dropped', message });
  }
}
