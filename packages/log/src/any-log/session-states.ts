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
  /** Approximate maximum size of one folded session. A larger one is refused. Default: 512 MiB. */
  readonly maxSessionBytes?: number | undefined;
  /**
   * Number of new records after which a state is stored as a snapshot, if the log has `snapshots`.
   * Default: 1,000.
   */
  readonly recordsPerSnapshot?: number | undefined;
}

const allStates = new WeakMap<Log, SessionStates>();

/**
 * Returns the kept states of a log. All callers in the process share them. They only save time:
 * without them, every state is folded from the records again.
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
 * Keeps the folded states of the most recently used sessions of a log. If the log has `snapshots`, it
 * also stores a state from time to time, and starts from there if it does not have the state any more.
 */
export class SessionStates {
  readonly #cache: StateCache;
  /** The last load of each session. Loads of one session run one after another. */
  readonly #loading = new Map<string, Promise<unknown>>();

  /** Use `sessionStates(log)`, so that all callers share one instance. */
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
   * Folds a session to its end. Only records after the kept state are read. It reads in pages and
   * lets other work run in between. Throws `no_session` if the session does not exist, and
   * `too_large` if its state would exceed the limit.
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
   * Returns the kept state without reading the log. Records may have been added since. Undefined if
   * none is kept, or if the two folds end at different records.
   */
  kept<T>(session: string, fold: SessionFold<T>): LoadedSession<T> | undefined {
    // A state without old items is better, even if it is a little older.
    for (const key of [cutKey(session, fold), session]) {
      const entry = this.#cache.get(key);
      const known = entry?.values.get(fold as SessionFold<unknown>);
      if (entry === undefined || known?.through !== entry.state.through) continue;
      return { state: entry.state, value: known.value as T, incarnation: entry.incarnation };
    }
    return undefined;
  }

  /** Keeps a state that the caller folded further, for the next `load`. */
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
    void this.#cache.save(key, entry);
  }

  /** Drops the kept state of a session. A stored snapshot stays. */
  forget(session: string): void {
    this.#cache.forget(session);
  }

  /** Resolves when the snapshots that are being written are stored. A program need not wait for it. */
  saved(): Promise<void> {
    return this.#cache.saved();
  }
}
