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
 * Returns the kept states of a log. All callers in the process share them. The kept states only save time.
 * Without them, `load` folds every session from its first record.
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
 * Keeps the folded states of the most recently used sessions of a log in memory. If the log has
 * `snapshots`, it also stores a state from time to time. When a state is no longer in memory, it loads the
 * stored snapshot and continues from there.
 */
export class SessionStates {
  readonly #cache: StateCache;
  /** The last load of each session. Loads of one session run one after another. */
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
   * Folds a session up to its last record and returns the result. It reads only the records after the kept
   * state. It reads in pages, and other work of the process can run between two pages. Throws `no_session`
   * if the session does not exist, and `too_large` if its state would exceed the limit.
   */
  load(session: string): Promise<LoadedSession<unknown>>;
  load<T>(session: string, fold: SessionFold<T>): Promise<LoadedSession<T>>;
  load(id: string, fold?: SessionFold<unknown>): Promise<LoadedSession<unknown>> {
    const session = sessionId(id);
    const earlier = this.#loading.get(session) ?? Promise.resolve();
    // A short session is read with its lease, and needs no load. So the code loads on demand.
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
   * Returns the kept state without reading the log. The log may have newer records. Returns undefined if no
   * state is kept, or if the state and the value of the fold end at different records.
   */
  kept<T>(session: string, fold: SessionFold<T>): LoadedSession<T> | undefined {
    // The state without old items is tried first, because it needs less memory. It may be a little older.
    for (const key of [cutKey(session, fold), session]) {
      const entry = this.#cache.get(key);
      const known = entry?.values.get(fold as SessionFold<unknown>);
      if (entry === undefined || known?.through !== entry.state.through) continue;
      return { state: entry.state, value: known.value as T, incarnation: entry.incarnation };
    }
    return undefined;
  }

  /** Keeps a state that the caller folded with newer records. The next `load` continues from it. */
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
    // The value beside the whole state is older now, so nobody continues from it.
    if (key !== state.session) this.#cache.dropValue(state.session, fold as SessionFold<unknown>);
    void this.#cache.save(key, entry);
  }

  /** Removes the kept states of a session from memory. A stored snapshot stays. */
  forget(session: string): void {
    this.#cache.forget(session);
  }

  /** Resolves when all snapshots that are being written are stored. Programs do not have to call it. */
  saved(): Promise<void> {
    return this.#cache.saved();
  }
}
