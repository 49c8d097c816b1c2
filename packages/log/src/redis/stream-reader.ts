import type { SessionId } from '@millrace/core';
import type { Redis } from 'ioredis';
import type { BusListener, BusNotice } from '../contract/bus.ts';
import type { BusKeys, BusLimits, OnBusDiagnostic } from './bus-options.ts';
import { withTimeout } from './connection.ts';
import { decodeNotice } from './notice-codec.ts';

/** The interval of the check whether Redis lost its data, in milliseconds. */
const checkIntervalMs = 1_000;
/** Maximum number of entries that one read returns per stream. */
const pageLength = 16;

/**
 * Reads the streams of all followed sessions with one command on one connection. It calls `missed` whenever
 * entries may have been lost.
 */
export class StreamReader {
  readonly #listeners: Listeners;
  readonly #keys: BusKeys;
  readonly #limits: BusLimits;
  readonly #onDiagnostic: OnBusDiagnostic;
  /**
   * For each stream key, the id of the last entry that was read. The map contains only streams that the
   * reader has joined.
   */
  #cursors = new Map<string, string>();
  /**
   * Stream keys of sessions where Redis has a value of another type. Followers of these sessions read the
   * store. `#checkMark` empties this set at intervals, so that the reader tries the keys again.
   */
  readonly #refused = new Set<string>();
  #checkedAt = Number.NEGATIVE_INFINITY;
  #isBlocked = false;
  /** True if sessions were added after the streams were joined. */
  #isChanged = false;
  #onChange: (() => void) | undefined;
  #unreadable = 0;

  constructor(
    listeners: Listeners,
    keys: BusKeys,
    limits: BusLimits,
    onDiagnostic: OnBusDiagnostic,
  ) {
    this.#listeners = listeners;
    this.#keys = keys;
    this.#limits = limits;
    this.#onDiagnostic = onDiagnostic;
  }

  /**
   * Makes the reader join new streams. Call it after the first follower of a session was added. Returns true
   * if the caller must wake the reader.
   */
  changed(): boolean {
    this.#isChanged = true;
    this.#onChange?.();
    const mustWake = this.#isBlocked;
    // After this wake-up, no further wake-up is needed until the next blocking read.
    this.#isBlocked = false;
    return mustWake;
  }

  /** Reads entries until the connection is lost. Then it rejects with the reason. */
  async read(client: Redis): Promise<never> {
    this.#cursors = new Map();
    this.#checkedAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      if (this.#listeners.isEmpty) await this.#waitForListener();
      await this.#checkMark(client);
      await this.#joinStreams(client);
      // A listener may have subscribed to a new session while it was called. The reader then joins that
      // stream first.
      if (!this.#isChanged) await this.#readPage(client);
    }
  }

  async #waitForListener(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onChange = resolve;
    });
    this.#onChange = undefined;
  }

  /**
   * Checks whether the mark key still exists. If the key no longer exists, Redis may have lost all data, and
   * the ids of entries may start again.
   */
  async #checkMark(client: Redis): Promise<void> {
    const now = performance.now();
    if (now - this.#checkedAt < checkIntervalMs) return;
    this.#checkedAt = now;
    this.#refused.clear();
    const { mark } = this.#keys;
    const { timeoutMs, expiresMs } = this.#limits;
    // The mark expires before the streams. The check therefore also fails if this process was stopped for so
    // long that streams may have expired.
    const markMs = Math.min(60_000, expiresMs);
    if ((await withTimeout(timeoutMs, client.pexpire(mark, markMs))) === 1) return;
    await withTimeout(timeoutMs, client.set(mark, '', 'PX', markMs));
    if (this.#cursors.size > 0) {
      const message = 'Redis lost its data; followers read the store';
      this.#onDiagnostic({ code: 'flushed', message });
    }
    this.#cursors = new Map();
  }

  /** Joins the streams of new sessions at their current end. Followers then read the store once. */
  async #joinStreams(client: Redis): Promise<void> {
    this.#isChanged = false;
    const { sessions } = this.#listeners;
    const keys = new Map(sessions.map((session) => [this.#keys.stream(session), session]));
    for (const key of this.#cursors.keys())
      if (!keys.has(key) && key !== this.#keys.wake) this.#cursors.delete(key);
    const added = [this.#keys.wake, ...keys.keys()].filter(
      (key) => !this.#cursors.has(key) && !this.#refused.has(key),
    );
    if (added.length === 0) return;
    const pipeline = client.pipeline();
    for (const key of added) pipeline.xrevrange(key, '+', '-', 'COUNT', 1);
    const replies = (await withTimeout(this.#limits.timeoutMs, pipeline.exec())) ?? [];
    for (const [index, key] of added.entries()) {
      const [error, entries] = replies[index] ?? [new Error('cut'), undefined];
      const session = keys.get(key);
      // Another program may have created a key of a different type. Such a key must not block the other
      // sessions.
      if (error !== null && session !== undefined && isWrongType(error)) this.#refused.add(key);
      else if (error !== null) throw error;
      else this.#cursors.set(key, lastId(entries) ?? '0-0');
      // The bus does not report earlier commits, so followers read the store once.
      if (session !== undefined) this.#listeners.missed(session);
    }
  }

  async #readPage(client: Redis): Promise<void> {
    const keys = [...this.#cursors.keys()];
    const ids = [...this.#cursors.values()];
    this.#isBlocked = true;
    const asked = client.xread(
      'COUNT',
      pageLength,
      'BLOCK',
      checkIntervalMs,
      'STREAMS',
      ...keys,
      ...ids,
    );
    const reply = await withTimeout(checkIntervalMs + this.#limits.timeoutMs, asked);
    this.#isBlocked = false;
    const sessionOf = new Map(this.#listeners.sessions.map((s) => [this.#keys.stream(s), s]));
    for (const [key, entries] of reply ?? []) this.#take(key, sessionOf.get(key), entries);
  }

  #take(
    key: string,
    session: SessionId | undefined,
    entries: readonly (readonly [id: string, fields: readonly string[]])[],
  ): void {
    for (const [id, fields] of entries) {
      this.#cursors.set(key, id);
      if (session !== undefined) this.#deliver(session, fields);
    }
  }

  #deliver(session: SessionId, [from, origin, ...fields]: readonly string[]): void {
    // Entries of this process are skipped, because it already has its own commits.
    if (from === 'from' && origin === this.#keys.origin) return;
    if (from === 'from' && fields[0] === 'gone') return this.#listeners.missed(session);
    const notice = from === 'from' ? decodeNotice(session, fields) : undefined;
    if (notice !== undefined) return this.#listeners.notice(notice);
    this.#listeners.missed(session);
    // The diagnostic is sent only at counts 1, 2, 4, 8 …, to limit the number of messages.
    const count = ++this.#unreadable;
    if ((count & (count - 1)) !== 0) return;
    const message = `${count} entries in Redis were not readable so far, the last one in session ${session}`;
    this.#onDiagnostic({ code: 'unreadable', message });
  }
}

function isWrongType({ message }: Error): boolean {
  return message.startsWith('WRONGTYPE');
}

function lastId(entries: unknown): string | undefined {
  const [first] = Array.isArray(entries) ? entries : [];
  const [id] = Array.isArray(first) ? first : [];
  return typeof id === 'string' ? id : undefined;
}

/** Stores the bus listeners of each session. */
export class Listeners {
  readonly #bySession = new Map<SessionId, Set<BusListener>>();

  get sessions(): readonly SessionId[] {
    return [...this.#bySession.keys()];
  }

  get isEmpty(): boolean {
    return this.#bySession.size === 0;
  }

  /** Adds a listener. Returns true if it is the first listener of the session. */
  add(session: SessionId, listener: BusListener): boolean {
    const there = this.#bySession.get(session);
    if (there === undefined) this.#bySession.set(session, new Set([listener]));
    else there.add(listener);
    return there === undefined;
  }

  remove(session: SessionId, listener: BusListener): void {
    const there = this.#bySession.get(session);
    there?.delete(listener);
    if (there?.size === 0) this.#bySession.delete(session);
  }

  clear(): void {
    this.#bySession.clear();
  }

  notice(notice: BusNotice): void {
    for (const listener of this.#bySession.get(notice.session) ?? []) listener.notice(notice);
  }

  missed(session: SessionId): void {
    for (const listener of this.#bySession.get(session) ?? []) listener.missed();
  }

  missedAll(): void {
    for (const session of this.sessions) this.missed(session);
  }
}
