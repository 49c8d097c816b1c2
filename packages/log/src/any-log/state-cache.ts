import { type FoldState, isCut, type LogRecord } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import type { CutState, StoredFold, StoredValue } from './snapshot-cuts.ts';
import { bytesOf } from './state-size.ts';

/** A fold that a load computes in addition to the session state, for example the state of an agent loop. */
export interface SessionFold<T> {
  /** The value before the first record. */
  readonly initial: T;
  /** Returns the value after a record. */
  readonly apply: (value: T, record: LogRecord) => T;
  /**
   * Describes how snapshots store the value. Default: snapshots do not store the value, and each load folds
   * it from the first record.
   */
  readonly stored?: StoredFold<T> | undefined;
}

/** A folded session: its state, and the value of one fold. */
export interface LoadedSession<T> {
  /**
   * The folded state. If the fold has `stored.needs`, the state may not contain items that the fold does not
   * need (see `isCut`).
   */
  readonly state: FoldState;
  readonly value: T;
  /** The incarnation that the offsets of the state belong to. */
  readonly incarnation: string;
}

/** A fold whose value may have any type. */
interface NamedFold {
  readonly stored?: { readonly name: string } | undefined;
}

/** The value of a fold. */
export interface FoldedValue {
  /** The offset of the last record that the value includes. */
  readonly through: number;
  readonly value: unknown;
}

/** A state in memory. */
export interface StateEntry {
  readonly incarnation: string;
  state: FoldState;
  /** The approximate size of `state`. */
  bytes: number;
  /** The value of each fold that was used with this state. */
  readonly values: Map<SessionFold<unknown>, FoldedValue>;
  /** The values of the snapshot that the state started from, by the name of the fold. */
  readonly stored: ReadonlyMap<string, StoredValue>;
  /** The offset of the last snapshot that was read or written for this entry. */
  storedThrough: number;
}

/**
 * Keeps states in memory up to a maximum size, and stores them as snapshots after a number of new records.
 */
export class StateCache {
  readonly log: Log;
  readonly limits: { maxBytes: number; maxSessionBytes: number; recordsPerSnapshot: number } = {
    maxBytes: 64 * 2 ** 20,
    maxSessionBytes: 512 * 2 ** 20,
    recordsPerSnapshot: 1000,
  };
  /**
   * The states in memory, in the order of their last use. A session can have several entries. One entry has
   * all items. Each other entry belongs to a fold and has only the items that the fold needs.
   */
  readonly #entries = new Map<string, StateEntry>();
  /** The names of the folds for which memory contains a state without old items. */
  readonly #foldNames = new Set<string>();
  /** The running writes of snapshots. */
  readonly #saving = new Map<string, Promise<unknown>>();
  #bytes = 0;

  constructor(log: Log) {
    this.log = log;
  }

  /** Approximate memory of the kept states. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): StateEntry | undefined {
    return this.#entries.get(key);
  }

  /**
   * Returns the key of a state: the id of its session. For a state without old items, the key also contains
   * the fold that it belongs to.
   */
  keyOf({ session, items }: FoldState, fold: NamedFold): string {
    if (!isCut(items)) return session;
    this.#foldNames.add(fold.stored?.name ?? '');
    return cutKey(session, fold);
  }

  put(key: string, entry: StateEntry): void {
    this.#drop(key);
    entry.bytes = bytesOf(entry.state);
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
    this.evict();
  }

  /** Drops the states of a session. A stored snapshot stays. */
  forget(session: string): void {
    this.#drop(session);
    for (const name of this.#foldNames) this.#drop(`${session}\u0000${name}`);
  }

  /** Drops the least recently used states, until the remaining states fit into the limit. */
  evict(): void {
    for (const key of this.#entries.keys()) {
      if (this.#bytes <= this.limits.maxBytes) return;
      this.#drop(key);
    }
  }

  /**
   * Stores the state as a snapshot if enough records were added. Errors are ignored, because a missing
   * snapshot only costs time.
   */
  async save(key: string, entry: StateEntry): Promise<void> {
    const { snapshots } = this.log;
    const { state, incarnation, storedThrough } = entry;
    const { recordsPerSnapshot: spacing } = this.limits;
    const isDue = state.through - storedThrough >= spacing;
    if (snapshots === undefined || !isDue || this.#saving.has(key)) return;
    entry.storedThrough = state.through;
    const values = [...entry.values].flatMap(([{ stored }, value]) =>
      stored === undefined ? [] : [{ stored, ...value }],
    );
    const toStore = { state, incarnation, values, spacing };
    // Short sessions have no snapshots, so this code is imported on demand.
    const saving = import('./session-snapshots.ts')
      .then(({ saveSnapshot }) => saveSnapshot(snapshots, toStore))
      .catch(() => []);
    this.#saving.set(key, saving);
    const cutStates = await saving;
    this.#saving.delete(key);
    for (const cut of cutStates) this.#replace(key, entry, cut);
  }

  /** Resolves when all running writes of snapshots are finished. */
  async saved(): Promise<void> {
    await Promise.all(this.#saving.values());
  }

  /** Replaces the whole state in memory with a state that contains only the items that the fold needs. */
  #replace(key: string, entry: StateEntry, { stored, kept }: CutState): void {
    const fold = [...entry.values.keys()].find((one) => one.stored === stored);
    if (fold === undefined || this.#entries.get(key) !== entry) return;
    if (kept === undefined) return this.dropValue(key, fold);
    const { state, value } = kept;
    const { through } = state;
    const cutEntry = { ...newEntry(entry.incarnation, state), storedThrough: through };
    cutEntry.values.set(fold, { through, value });
    this.put(this.keyOf(state, fold), cutEntry);
    if (key === state.session) this.dropValue(key, fold);
  }

  /** Drops the value of a fold. Also drops the state if it exists only for this fold. */
  dropValue(key: string, fold: SessionFold<unknown>): void {
    const entry = this.#entries.get(key);
    if (entry?.values.delete(fold) && entry.values.size === 0) this.#drop(key);
  }

  #drop(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

/**
 * Returns the key of the state that has only the items that the fold needs. No session id contains the
 * character `\u0000`.
 */
export function cutKey(session: string, { stored }: NamedFold): string {
  return `${session}\u0000${stored?.name ?? ''}`;
}

export function newEntry(incarnation: string, state: FoldState): StateEntry {
  const nothing = { values: new Map(), stored: new Map(), storedThrough: 0 };
  return { incarnation, state, bytes: 0, ...nothing };
}
