import type { LogRecord, SessionId } from '@millrace/core';
import type { Redis } from 'ioredis';
import type { BusNotice } from '../contract/bus.ts';
import { approximateBytes } from '../storage/record-list.ts';
import type { BusKeys, BusLimits, OnBusDiagnostic } from './bus-options.ts';
import { type ReconnectingClient, withTimeout } from './connection.ts';
import { encodeNotice } from './notice-codec.ts';

/** A message about a session: a notice, or `gone` if the session was deleted. */
type SessionMessage = BusNotice | 'gone';

/** A message in the next batch. */
interface QueuedMessage {
  readonly session: SessionId;
  message: SessionMessage;
  /** The joined records of several notices. Undefined if there is only one notice. */
  joined: LogRecord[] | undefined;
  /** The approximate size of the records in bytes. */
  size: number;
  /** If the records are larger than this, the notice omits them. */
  readonly maxBytes: number;
}

interface PendingEntry {
  readonly session: SessionId;
  readonly message: SessionMessage;
  readonly fields: readonly string[];
  readonly bytes: number;
}

/** Maximum number of sessions whose last message is kept until Redis is reachable again. */
const maxUnsent = 10_000;
const retryMs = 1_000;
/** The lifetime of the message about a deletion in its stream, in milliseconds. */
const deletedExpiryMs = 5_000;
/** The approximate size of a command without its fields, in bytes. */
const entryOverheadBytes = 200;

/**
 * Sends messages in batches. If the server is unreachable, the class does not wait. It then keeps only the
 * last message of each session, without records.
 */
export class StreamWriter {
  readonly #keys: BusKeys;
  readonly #limits: BusLimits;
  readonly #onDiagnostic: OnBusDiagnostic;
  readonly #connection: ReconnectingClient;
  /** Messages of the current batch. */
  #queue: QueuedMessage[] = [];
  /** The last message of each session in the current batch. */
  readonly #last = new Map<SessionId, QueuedMessage>();
  #isScheduled = false;
  /** The number of bytes that were sent and not yet answered. */
  #pendingBytes = 0;
  /** The approximate size of messages that this round of the event loop has queued. */
  #queuedBytes = 0;
  #sent: Promise<void> = Promise.resolve();
  readonly #unsent = new Map<SessionId, SessionMessage>();
  #retry: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(
    connection: ReconnectingClient,
    keys: BusKeys,
    limits: BusLimits,
    onDiagnostic: OnBusDiagnostic,
  ) {
    this.#connection = connection;
    this.#keys = keys;
    this.#limits = limits;
    this.#onDiagnostic = onDiagnostic;
  }

  /** The number of bytes that were queued, or sent and not yet answered, for measurements. */
  get pendingBytes(): number {
    return this.#pendingBytes + this.#queuedBytes;
  }

  send(session: SessionId, message: SessionMessage): void {
    const { maxBytes, maxPendingBytes } = this.#limits;
    const isFull = this.pendingBytes >= maxPendingBytes;
    if (isFull) this.#reportDropped();
    if (isFull || this.#connection.client === undefined) return this.#keepUnsent(session, message);
    // This message replaces an earlier unsent message of the session.
    this.#unsent.delete(session);
    this.#enqueue(session, message, maxBytes);
  }

  /** Sends an entry that makes the reader of this process continue. */
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

  /** Sends the messages that were kept during an outage. The bus calls it after a reconnect. */
  resume(): void {
    const unsent = [...this.#unsent];
    this.#unsent.clear();
    for (const [session, message] of unsent) this.#enqueue(session, message, 0);
  }

  /** Resolves when all sent messages are answered. */
  async drained(): Promise<void> {
    this.#flush();
    await this.#sent;
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#unsent.clear();
  }

  #enqueue(session: SessionId, message: SessionMessage, maxBytes: number): void {
    const size = message === 'gone' ? 0 : sizeOf(message);
    this.#queuedBytes += size + entryOverheadBytes;
    const last = this.#last.get(session);
    if (last !== undefined && last.size + size <= maxBytes && joinNotice(last, message)) {
      last.size += size;
      return;
    }
    const queued = { session, message, joined: undefined, size, maxBytes };
    this.#queue.push(queued);
    this.#last.set(session, queued);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #encode({ session, message, maxBytes }: QueuedMessage): PendingEntry {
    const body = message === 'gone' ? ['gone', '1'] : encodeNotice(message, maxBytes);
    const fields = ['from', this.#keys.origin, ...body];
    const bytes = fields.reduce((sum, text) => sum + text.length, entryOverheadBytes);
    return { session, message, fields, bytes };
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#queue.length === 0) return;
    const entries = this.#queue.map((queued) => this.#encode(queued));
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#last.clear();
    for (const { bytes } of entries) this.#pendingBytes += bytes;
    const before = this.#sent;
    this.#sent = Promise.all([before, this.#send(entries)]).then(() => {});
  }

  async #send(entries: readonly PendingEntry[]): Promise<void> {
    const { client } = this.#connection;
    const failed = client === undefined ? entries : await this.#exec(client, entries);
    for (const { bytes } of entries) this.#pendingBytes -= bytes;
    for (const { session, message } of failed) this.#keepUnsent(session, message);
    if (failed.length === 0) return;
    // The timer retries messages that a reachable server refused. After a reconnect, `resume` sends the kept
    // messages earlier.
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      if (this.#connection.client !== undefined) this.resume();
    }, retryMs).unref();
  }

  /** Sends the entries and returns the entries that failed. */
  async #exec(client: Redis, entries: readonly PendingEntry[]): Promise<readonly PendingEntry[]> {
    const { maxLength, expiresMs, timeoutMs } = this.#limits;
    const pipeline = client.pipeline();
    for (const { session, message, fields } of entries) {
      const key = this.#keys.stream(session);
      const isGone = message === 'gone';
      const bound = isGone ? (['=', 1] as const) : (['~', maxLength] as const);
      pipeline.xadd(key, 'MAXLEN', ...bound, '*', ...fields);
      pipeline.pexpire(key, isGone ? deletedExpiryMs : expiresMs);
    }
    try {
      const replies = (await withTimeout(timeoutMs, pipeline.exec())) ?? [];
      const failed = entries.filter((_, index) => replies[2 * index]?.[0] !== null);
      if (failed.length > 0) this.#reportDropped(failed.length);
      return failed;
    } catch {
      this.#connection.drop(client);
      return entries;
    }
  }

  #keepUnsent(session: SessionId, message: SessionMessage): void {
    if (!this.#unsent.has(session) && this.#unsent.size >= maxUnsent) return this.#reportDropped();
    const stored = message === 'gone' ? message : { ...message, records: [] };
    this.#unsent.set(session, stored);
  }

  /** Counts dropped messages. It reports only the counts 1, 2, 4, 8 …, to limit the number of reports. */
  #reportDropped(count = 1): void {
    const before = this.#dropped;
    this.#dropped += count;
    if (Math.clz32(before) === Math.clz32(this.#dropped)) return;
    const message = `${this.#dropped} notices were dropped so far: Redis is too slow or refuses writes. Followers read the store`;
    this.#onDiagnostic({ code: 'dropped', message });
  }
}

function sizeOf({ records }: BusNotice): number {
  return records.reduce((sum, record) => sum + approximateBytes(record), 0);
}

/**
 * Joins a notice with the previous notice of the session, because a transaction can contain several appends.
 * Returns false if the new notice does not directly follow the previous notice.
 */
function joinNotice(queued: QueuedMessage, second: SessionMessage): boolean {
  const { message: first } = queued;
  if (first === 'gone' || second === 'gone') return false;
  const isSame =
    first.made === second.made &&
    first.incarnation === second.incarnation &&
    first.rewrites === second.rewrites;
  const follows = second.through - second.records.length === first.through;
  if (!isSame || !follows || first.records.length === 0) return false;
  queued.joined ??= [...first.records];
  for (const record of second.records) queued.joined.push(record);
  queued.message = { ...second, records: queued.joined };
  return true;
}
