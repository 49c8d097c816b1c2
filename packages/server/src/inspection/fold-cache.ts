import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogRecord, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/**
 * Maximum number of sessions with a cached value. The next read of a cached session starts after the last
 * read record.
 */
const maxCached = 256;
/**
 * Maximum number of pages that one read loads. A longer session needs several reads, and `isWhole` is false
 * until the last of them.
 */
const maxPages = 128;
/** The size of a page. The server handles other requests between two pages. */
const pageBytes = 2 ** 18;

/** A value that is computed from the records of a session. */
export interface KeptValue {
  /** The offset of the last record that the value includes. */
  readonly through: number;
}

/** A fold whose values are cached. Each value must have a limited size. */
export interface KeptFold<Value extends KeptValue> {
  readonly empty: Value;
  readonly fold: (before: Value, records: readonly LogRecord[]) => Value;
}

interface FoldResult<Value> {
  readonly state: Value;
  /** True if the value includes all records of the log. */
  readonly isWhole: boolean;
}

/** A value and the incarnation of its session. */
interface CachedValue<Value> {
  readonly incarnation: string | undefined;
  readonly state: Value;
}

/**
 * Caches values that are computed from the logs of sessions. A read processes only the records since the last
 * read. The values exist only in memory, because they can be computed again.
 */
export class FoldCache<Value extends KeptValue> {
  readonly #log: Log;
  readonly #fold: KeptFold<Value>;
  /** The cached values. The most recently used value is the last entry. */
  readonly #values = new Map<SessionId, CachedValue<Value>>();
  /** The last read of each session that is being read. */
  readonly #reads = new Map<SessionId, Promise<FoldResult<Value>>>();

  constructor(log: Log, fold: KeptFold<Value>) {
    this.#log = log;
    this.#fold = fold;
  }

  /**
   * Returns the value of a session. It covers the log to its end, or up to the page limit of one read. Reads of the
   * same session wait for each other, so that each record is read once. A later read starts with the value of the
   * read before, and also includes the records that were stored meanwhile.
   */
  async read(session: SessionId): Promise<FoldResult<Value>> {
    const read = () => this.#read(session);
    const reading = this.#reads.get(session)?.then(read, read) ?? read();
    this.#reads.set(session, reading);
    try {
      return await reading;
    } finally {
      if (this.#reads.get(session) === reading) this.#reads.delete(session);
    }
  }

  async #read(session: SessionId): Promise<FoldResult<Value>> {
    const { empty, fold } = this.#fold;
    const info = await this.#log.info(session);
    const cached = this.#values.get(session);
    const { incarnation, through = 0 } = info ?? {};
    // The cached value is invalid if the session was rewound, or deleted and created again.
    let state = cached?.incarnation === incarnation ? (cached?.state ?? empty) : empty;
    for (let pages = 0; pages < maxPages && state.through < through; pages++) {
      const from = state.through;
      const page = await this.#log.read(session, { from, incarnation, maxBytes: pageBytes });
      if (page.through <= state.through) break;
      if (pages > 0) await nextTurn();
      state = { ...fold(state, page.records), through: page.through };
    }
    this.#remember(session, { incarnation, state });
    return { state, isWhole: state.through >= through };
  }

  #remember(session: SessionId, value: CachedValue<Value>): void {
    this.#values.delete(session);
    this.#values.set(session, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > maxCached && oldest !== undefined) this.#values.delete(oldest);
  }
}

/** Returns a function that finds the cache of a log. Each log has one cache per fold. */
export function foldCacheFor<Value extends KeptValue>(
  fold: KeptFold<Value>,
): (log: Log) => FoldCache<Value> {
  const caches = new WeakMap<Log, FoldCache<Value>>();
  return (log) => {
    const cache = caches.get(log) ?? new FoldCache(log, fold);
    caches.set(log, cache);
    return cache;
  };
}
