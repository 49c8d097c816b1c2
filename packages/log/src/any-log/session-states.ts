import { sessionId } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import {
  cutKey,
  type LoadedSession,
  newEntry,
  type SessionFold,
  StateCache,
} from './state-cache.ts';

/** Limits of `sessionStates`. */
export interface SessionStatesOptions {
  /** Approximate memory for all kept states of the log. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
  /**
   * Approximate maximum size of one folded session. `load` throws `too_large` for a larger session.
   * Default: 512 MiB.
   */
  readonly maxSessionBytes?: number | undefined;
  /**
   * Number of new records after which a state is stored as a snapshot, if the log has `snapshots`.
   * Default: 1,000.
   */
  readonly recordsPerSnapshot?: number | undefined;
}

const allStates = new WeakMap<Log, SessionStates>();

/**
 * Returns the cache of folded states of a log. All callers in the process share it. The cache only saves
 * time. Without it, `load` folds every session from its first record.
 *
 * @example const { state } = await sessionStates(log).load(session);
 */
export function sessionStates(log: Log, options?: SessionStatesOptions): SessionStates {
  const known = allStates.get(log) ?? new SessionStates(log);
  allStates.set(log, known);
  if (options !== undefined) known.configure(options);
  return known;
}

/**
 * Keeps the folded states of the most recently used sessions of a log in memory. If the log has `snapshots`,
 * the class also stores states as snapshots. When a state is no longer in memory, the class loads the
 * snapshot and folds only the records after it.
 */
export class SessionStates {
  readonly #cache: StateCache;
  /** The last load of each session. Loads of one session run one after the other. */
  readonly #loading = new Map<string, Promise<unknown>>();

  /** Creates an empty cache. Call `sessionStates(log)` instead, so that all callers share one instance. */
  constructor(log: Log) {
    this.#cache = new StateCache(log);
  }

  /** Changes the limits. Limits that are undefined stay as they are. */
  configure(options: SessionStatesOptions): void {
    const { limits } = this.#cache;
    limits.maxBytes = options.maxBytes ?? limits.maxBytes;
    limits.maxSessionBytes = options.maxSessionBytes ?? limits.maxSessionBytes;
    limits.recordsPerSnapshot = options.recordsPerSnapshot ?? limits.recordsPerSnapshot;
    this.#cache.evict();
  }

  /** Approximate memory of the kept states. */
  get bytes(): number {
    return this.#cache.bytes;
  }

  /**
   * Folds a session up to its last record and returns the result. It reads only the records after the state
   * in memory. It reads in pages, so other work of the process can run between two pages. Throws `no_session`
   * if the session does not exist, and `too_large` if its state would exceed the limit.
   */
  load(session: string): Promise<LoadedSession<unknown>>;
  load<T>(session: string, fold: SessionFold<T>): Promise<LoadedSession<T>>;
  load(id: string, fold?: SessionFold<unknown>): Promise<LoadedSession<unknown>> {
    const session = sessionId(id);
    const earlier = this.#loading.get(session) ?? Promise.resolve();
    // The code of `load` is imported on demand. Short sessions do not need it, because a driver gets their
    // records together with the lease.
    const loaded = earlier
      .then(() => import('./load-state.ts'))
      .then(({ loadState, noFold }) => loadState(this.#cache, session, fold ?? noFold));
    const settled = loaded.then(
      () => {},
      () => {},
    );
    this.#loading.set(session, settled);
    void settled.then(() => {
      if (this.#loading.get(session) === settled) this.#loading.delete(session);
    });
    return loaded;
  }

  /**
   * Returns the state in memory without reading the log. The log may have newer records. Returns undefined if
   * there is no such state, or if the state and the value of the fold end at different records.
   */
  kept<T>(session: string, fold: SessionFold<T>): LoadedSession<T> | undefined {
    // The state without old items is tried first, because it needs less memory. It may be slightly older than
    // the whole state.
    for (const key of [cutKey(session, fold), session]) {
      const entry = this.#cache.get(key);
      const known = entry?.values.get(fold as SessionFold<unknown>);
      if (entry === undefined || known?.through !== entry.state.through) continue;
      return { state: entry.state, value: known.value as T, incarnation: entry.incarnation };
    }
    return undefined;
  }

  /** Puts a state that the caller has folded into the cache. The next `load` continues from this state. */
  keep<T>(fold: SessionFold<T>, { state, value, incarnation }: LoadedSession<T>): void {
    const { through } = state;
    const key = this.#cache.keyOf(state, fold);
    const known = this.#cache.get(key);
    const isSame = known?.incarnation === incarnation;
    if (isSame && known.state.through > through) return;
    const entry = isSame ? known : newEntry(incarnation, state);
    entry.state = state;
    entry.values.set(fold as SessionFold<unknown>, { through, value });
    this.#cache.put(key, entry);
    // The value that belongs to the whole state is now older than this state, so no later load continues from
    // it.
    if (key !== state.session) this.#cache.dropValue(state.session, fold as SessionFold<unknown>);
    void this.#cache.save(key, entry);
  }

  /** Removes the states of a session from memory. Stored snapshots stay. */
  forget(session: string): void {
    this.#cache.forget(session);
  }

  /** Resolves when all running writes of snapshots are finished. Programs do not have to call it. */
  saved(): Promise<void> {
    return this.#cache.saved();
  }
}
