import type { LogRecord, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/**
 * The number of sessions whose value is cached. The next read of a cached value starts where the last one
 * ended.
 */
const maxCached = 256;
/**
 * Maximum number of pages that one read loads. A longer session needs several reads. Until then, `isWhole`
 * is false.
 */
const maxPages = 32;
const pageBytes = 2 ** 20;

/** A value that is folded from the records of a session. */
export interface KeptValue {
  /** The offset of the last record that the value includes. */
  readonly through: number;
}

/** A fold whose values a cache keeps. A value must have a limited size. */
export interface KeptFold<Value extends KeptValue> {
  readonly empty: Value;
  readonly fold: (before: Value, records: readonly LogRecord[]) => Value;
}

interface FoldResult<Value> {
  readonly state: Value;
  /** True if the value includes the whole log. */
  readonly isWhole: boolean;
}

/** A value and the incarnation of its session. */
interface CachedValue<Value> {
  readonly incarnation: string | undefined;
  readonly state: Value;
}

/**
 * Values that are folded from the logs of sessions. A read folds only the records since the last read. The
 * values are only in memory, because they can always be computed again.
 */
export class FoldCache<Value extends KeptValue> {
  readonly #log: Log;
  readonly #fold: KeptFold<Value>;
  /** The cached values. The most recently used one is last. */
  readonly #values = new Map<SessionId, CachedValue<Value>>();

  constructor(log: Log, fold: KeptFold<Value>) {
    this.#log = log;
    this.#fold = fold;
  }

  /** Returns the value of a session, folded up to the end of its log, or as far as one read goes. */
  async read(session: SessionId): Promise<FoldResult<Value>> {
    const { empty, fold } = this.#fold;
    const info = await this.#log.info(session);
    const cached = this.#values.get(session);
    const { incarnation, through = 0 } = info ?? {};
    // If the session was rewound, or deleted and created again, the cached value is not used.
    let state = cached?.incarnation === incarnation ? (cached?.state ?? empty) : empty;
    for (let pages = 0; pages < maxPages && state.through < through; pages++) {
      const from = state.through;
      const page = await this.#log.read(session, { from, incarnation, maxBytes: pageBytes });
      if (page.through <= state.through) break;
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

/** Returns a function that returns the cache of a log. There is one cache per log and fold. */
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
