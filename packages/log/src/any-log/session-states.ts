import {
  type Batch,
  Folder,
  type FoldState,
  isCut,
  isMillraceError,
  type LogRecord,
  type SessionId,
  sessionId,
} from '@millrace/core';
import { nextTask } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';
import { requireSessionInfo, unfoldableError } from './read-session.ts';
import type { CutState, StoredFold, StoredValue } from './session-snapshots.ts';
import { bytesOf, sizeOf } from './state-size.ts';

/** A fold that is computed in addition to the session state, for example the state of an agent loop. */
export interface SessionFold<T> {
  /** The value before the first record. */
  readonly initial: T;
  /** Returns the value after a record. */
  readonly apply: (value: T, record: LogRecord) => T;
  /**
   * Says how the value is stored in snapshots. Default: the value is not stored, and is folded from the
   * first record.
   */
  readonly stored?: StoredFold<T> | undefined;
}

/** A folded session: its state, and the value of one fold. */
export interface LoadedSession<T> {
  /**
   * The folded state. If the fold has `stored.needs`, items that it does not need may be missing (see
   * `isCut`).
   */
  readonly state: FoldState;
  readonly value: T;
  /** The incarnation that the offsets of the state belong to. */
  readonly incarnation: string;
}

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

/** A fold whose value may have any type. */
interface NamedFold {
  readonly stored?: { readonly name: string } | undefined;
}

interface FoldedValue {
  /** The offset of the last record that the value includes. */
  readonly through: number;
  readonly value: unknown;
}

interface Entry {
  readonly incarnation: string;
  state: FoldState;
  /** The approximate size of `state`. */
  bytes: number;
  /** The value of each fold that was used with this state. */
  readonly values: Map<SessionFold<unknown>, FoldedValue>;
  /** The values of the snapshot that the state started from, by the name of the fold. */
  readonly stored: ReadonlyMap<string, StoredValue>;
  /** The offset of the last snapshot that this entry read, or tried to write. */
  storedThrough: number;
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
  readonly #log: Log;
  /**
   * The kept states in the order of their last use. A session can have several entries: one with all items,
   * and one per fold without the items that the fold does not need.
   */
  readonly #entries = new Map<string, Entry>();
  /** The names of the folds that have kept states without old items. */
  readonly #foldNames = new Set<string>();
  /** The last load of each session. Loads of one session run one after another. */
  readonly #loading = new Map<SessionId, Promise<unknown>>();
  /** The snapshots that are being written. */
  readonly #saving = new Map<string, Promise<unknown>>();
  #bytes = 0;
  #maxBytes = 64 * 2 ** 20;
  #maxSessionBytes = 512 * 2 ** 20;
  #recordsPerSnapshot = 1000;

  /** Creates an empty cache. Call `sessionStates(log)` instead, so that all callers share one instance. */
  constructor(log: Log) {
    this.#log = log;
  }

  /** Changes the limits. Limits that are undefined stay as they are. */
  configure(options: SessionStatesOptions): void {
    const { maxBytes, maxSessionBytes, recordsPerSnapshot } = options;
    this.#maxBytes = maxBytes ?? this.#maxBytes;
    this.#maxSessionBytes = maxSessionBytes ?? this.#maxSessionBytes;
    this.#recordsPerSnapshot = recordsPerSnapshot ?? this.#recordsPerSnapshot;
    this.#evict();
  }

  /** Approximate memory of the kept states. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Folds a session up to its last record and returns the result. It reads only the records after the kept
   * state. It reads in pages, and other work of the process can run between two pages. Throws `no_session`
   * if the session does not exist, and `too_large` if its state would exceed the limit.
   */
  load(session: string): Promise<LoadedSession<unknown>>;
  load<T>(session: string, fold: SessionFold<T>): Promise<LoadedSession<T>>;
  load(id: string, fold: SessionFold<unknown> = noFold): Promise<LoadedSession<unknown>> {
    const session = sessionId(id);
    const earlier = this.#loading.get(session) ?? Promise.resolve();
    const loaded = earlier.then(() => this.#load(session, fold));
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
      const entry = this.#entries.get(key);
      const known = entry?.values.get(fold as SessionFold<unknown>);
      if (entry === undefined || known?.through !== entry.state.through) continue;
      return { state: entry.state, value: known.value as T, incarnation: entry.incarnation };
    }
    return undefined;
  }

  /** Keeps a state that the caller folded with newer records. The next `load` continues from it. */
  keep<T>(fold: SessionFold<T>, { state, value, incarnation }: LoadedSession<T>): void {
    const { through } = state;
    const key = this.#keyOf(state, fold);
    const known = this.#entries.get(key);
    const isSame = known?.incarnation === incarnation;
    if (isSame && known.state.through > through) return;
    const entry = isSame ? known : newEntry(incarnation, state);
    entry.state = state;
    entry.values.set(fold as SessionFold<unknown>, { through, value });
    this.#put(key, entry);
    void this.#save(key, entry);
  }

  /** Removes the kept states of a session from memory. A stored snapshot stays. */
  forget(session: string): void {
    this.#drop(session);
    for (const name of this.#foldNames) this.#drop(`${session}\u0000${name}`);
  }

  /** Resolves when all snapshots that are being written are stored. Programs do not have to call it. */
  async saved(): Promise<void> {
    await Promise.all(this.#saving.values());
  }

  async #load(session: SessionId, fold: SessionFold<unknown>): Promise<LoadedSession<unknown>> {
    try {
      const info = await requireSessionInfo(this.#log, session);
      const entry = await this.#entryFor(info, fold);
      const loaded = await this.#foldFrom(entry, info, fold);
      if (loaded !== undefined) return loaded;
    } catch (error) {
      const isOld = isMillraceError(error) && error.code === 'rewound';
      if (!isOld) throw error;
    }
    // Folds from the first record, because the log was rewound, or because a redaction removed content that
    // the kept value may contain.
    this.forget(session);
    const info = await requireSessionInfo(this.#log, session);
    const whole = await this.#foldFrom(emptyEntry(info), info, fold);
    if (whole !== undefined) return whole;
    throw unfoldableError(session, 0);
  }

  /**
   * Returns the state to continue from: the kept state, else the stored state, else the state before the
   * first record.
   */
  async #entryFor(info: SessionInfo, fold: SessionFold<unknown>): Promise<Entry> {
    const { session, incarnation } = info;
    const { snapshots } = this.#log;
    const [whole, cut] = [session, cutKey(session, fold)].map((key) => {
      const entry = this.#entries.get(key);
      return entry?.incarnation === incarnation ? entry : undefined;
    });
    if (cut !== undefined && fold.stored?.needs && knownValue(cut, fold) !== undefined) return cut;
    if (whole !== undefined && knownValue(whole, fold) !== undefined) return whole;
    if (snapshots === undefined || whole === undefined)
      return whole ?? this.#storedEntry(info, fold);
    const { loadValue } = await snapshotCode();
    const value = fold.stored && (await loadValue(snapshots, info, fold.stored));
    // A value that was stored without old items fits only a state without these items.
    if (value?.cut !== undefined) return this.#storedEntry(info, fold);
    if (value !== undefined) whole.values.set(fold, value);
    return whole;
  }

  /** Loads the stored state. Returns the state before the first record if there is no usable snapshot. */
  async #storedEntry(info: SessionInfo, fold: SessionFold<unknown>): Promise<Entry> {
    const { snapshots } = this.#log;
    const { session, incarnation, through } = info;
    if (snapshots === undefined || through < this.#recordsPerSnapshot) return emptyEntry(info);
    const { loadSnapshot } = await snapshotCode();
    let bytes = 0;
    const loaded = await loadSnapshot(snapshots, info, {
      fold: fold.stored,
      onItems: (items) => {
        for (const item of items) bytes += sizeOf(item);
        if (bytes > this.#maxSessionBytes) throw tooLarge(session, bytes, this.#maxSessionBytes);
      },
    });
    if (loaded === undefined) return emptyEntry(info);
    const { state, values: stored } = loaded;
    const entry = { ...newEntry(incarnation, state), stored };
    // The stored value may be older than the state, because this fold is used less often than others.
    const { through: valueThrough = 0 } = knownValue(entry, fold) ?? {};
    const storedThrough = fold.stored ? Math.min(state.through, valueThrough) : state.through;
    return { ...entry, storedThrough };
  }

  /**
   * Reads the records after the entry, folds them, and keeps the result. Returns undefined if a redaction
   * makes the entry unusable.
   */
  async #foldFrom(
    entry: Entry,
    { session, incarnation, through: end }: SessionInfo,
    fold: SessionFold<unknown>,
  ): Promise<LoadedSession<unknown> | undefined> {
    const folder = new Folder(entry.state);
    const key = this.#keyOf(entry.state, fold);
    const known = knownValue(entry, fold);
    // Without a fold there is no value, so no earlier records are needed.
    const start = fold === noFold ? entry.state.through : 0;
    let { through, value } = known ?? { through: start, value: fold.initial };
    // The kept state contains the records up to `keptThrough`. If a later record redacts an item, the kept
    // state may still contain its content. It must not be used then.
    const keptThrough = known?.through ?? entry.state.through;
    for (let from = Math.min(through, folder.state.through); from < end; ) {
      const page = await this.#log.read(session, { from, incarnation });
      if (page.through <= from) break;
      if (keptThrough > 0 && hasRedaction(page, keptThrough)) return undefined;
      for (const record of page.records)
        if (record.offset > through) value = fold.apply(value, record);
      through = Math.max(through, page.through);
      if (folder.addBatch(page).outcome === 'gap')
        throw unfoldableError(session, folder.state.through);
      const bytes = bytesOf(folder.state);
      if (bytes > this.#maxSessionBytes) throw tooLarge(session, bytes, this.#maxSessionBytes);
      from = page.through;
      if (from >= end) break;
      await nextTask();
      // A long load stores snapshots on its way. If the process dies, the next load continues from the last
      // one.
      const isFar = folder.state.through >= entry.storedThrough + pagedSpacing;
      if (!isFar || through !== folder.state.through) continue;
      entry.state = folder.state;
      entry.values.set(fold, { through, value });
      await this.#save(key, entry);
    }
    // Keeps the result only if it is not older than the kept state, because `keep` may have replaced the
    // entry.
    const { state } = folder;
    if ((this.#entries.get(key)?.state.through ?? 0) <= state.through) {
      entry.state = state;
      entry.values.set(fold, { through, value });
      this.#put(key, entry);
      await this.#save(key, entry);
    }
    return { state, value, incarnation };
  }

  /**
   * Stores the state as a snapshot if enough records were added. Errors are ignored, because a missing
   * snapshot only costs time.
   */
  async #save(key: string, entry: Entry): Promise<void> {
    const { snapshots } = this.#log;
    const { state, incarnation, storedThrough } = entry;
    const spacing = this.#recordsPerSnapshot;
    const isDue = state.through - storedThrough >= spacing;
    if (snapshots === undefined || !isDue || this.#saving.has(key)) return;
    entry.storedThrough = state.through;
    const values = [...entry.values].flatMap(([{ stored }, value]) =>
      stored === undefined ? [] : [{ stored, ...value }],
    );
    const toStore = { state, incarnation, values, spacing };
    const saving = snapshotCode()
      .then(({ saveSnapshot }) => saveSnapshot(snapshots, toStore))
      .catch(() => []);
    this.#saving.set(key, saving);
    const cutStates = await saving;
    this.#saving.delete(key);
    for (const cut of cutStates) this.#replace(key, entry, cut);
  }

  /** Replaces the kept whole state with a state that lacks the items that the fold does not need. */
  #replace(key: string, entry: Entry, { stored, state, value }: CutState): void {
    const fold = [...entry.values.keys()].find((one) => one.stored === stored);
    if (fold === undefined || this.#entries.get(key) !== entry) return;
    const { through } = state;
    const cutEntry = { ...newEntry(entry.incarnation, state), storedThrough: through };
    cutEntry.values.set(fold, { through, value });
    this.#put(this.#keyOf(state, fold), cutEntry);
    if (key !== state.session) return;
    entry.values.delete(fold);
    if (entry.values.size === 0) this.#drop(key);
  }

  #keyOf({ session, items }: FoldState, fold: NamedFold): string {
    if (!isCut(items)) return session;
    this.#foldNames.add(fold.stored?.name ?? '');
    return cutKey(session, fold);
  }

  #put(key: string, entry: Entry): void {
    this.#drop(key);
    entry.bytes = bytesOf(entry.state);
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
    this.#evict();
  }

  #drop(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }

  #evict(): void {
    for (const key of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(key);
    }
  }
}

/** Imports the code of snapshots on demand, because short sessions have no snapshots. */
const snapshotCode = () => import('./session-snapshots.ts');

/** The number of records between two snapshots during a long load. */
const pagedSpacing = 20_000;

/**
 * Returns the key of the state without the items that the fold does not need. No session id contains the
 * character `\u0000`.
 */
function cutKey(session: string, { stored }: NamedFold): string {
  return `${session}\u0000${stored?.name ?? ''}`;
}

/**
 * Returns the value that the entry has for a fold, from memory or from its snapshot. Returns undefined if
 * it has none.
 */
function knownValue(
  { values, stored }: Entry,
  fold: SessionFold<unknown>,
): FoldedValue | undefined {
  const known = values.get(fold);
  if (known !== undefined || fold.stored === undefined) return known;
  const found = stored.get(fold.stored.name);
  return found?.version === fold.stored.version ? found : undefined;
}

const noFold: SessionFold<unknown> = { initial: undefined, apply: () => undefined };

function newEntry(incarnation: string, state: FoldState): Entry {
  const nothing = { values: new Map(), stored: new Map(), storedThrough: 0 };
  return { incarnation, state, bytes: 0, ...nothing };
}

function emptyEntry({ session, incarnation }: SessionInfo): Entry {
  return newEntry(incarnation, new Folder(session).state);
}

function hasRedaction({ records }: Batch, after: number): boolean {
  return records.some(({ offset, fact }) => offset > after && fact?.type === 'item_redacted');
}

function tooLarge(session: SessionId, bytes: number, limit: number): LogError {
  const message = `Cannot fold session ${session}: its state needs more than ${Math.round(limit / 2 ** 20)} MiB. Continue in a fork of an earlier record, or raise maxSessionBytes of sessionStates`;
  return new LogError('too_large', message, { session, bytes, limit });
}
