import type { LogRecord, SessionId } from '@millrace/core';
import type {
  CommandRow,
  NewSessionNumbers,
  ProducerRow,
  SessionRow,
  SessionRowFilter,
  StoreTransaction,
} from '@millrace/log/store';
import { counterJump, hasWork } from '@millrace/log/store';
import type { Row, Table } from '@millrace/server';

/** A session in a store state. It is immutable, so each change creates a new object. */
export interface StoredSession {
  readonly row: SessionRow;
  readonly records: readonly LogRecord[];
  readonly producers: ReadonlyMap<string, ProducerRow>;
  readonly commands: ReadonlyMap<string, CommandRow>;
}

/**
 * The whole content of a store after a commit. It is immutable, so every earlier state can be
 * restored.
 */
export interface StoreState {
  readonly sessions: ReadonlyMap<SessionId, StoredSession>;
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  readonly epochs: number;
  readonly made: number;
  readonly incarnation: number;
}

/** The rows of all tables at one moment. It is immutable, so it can be restored. */
export type RowsState = ReadonlyMap<Table, ReadonlyMap<string, Row>>;

export function emptyState(incarnation: number): StoreState {
  return { sessions: new Map(), blobs: new Map(), epochs: 0, made: 0, incarnation };
}

/**
 * Returns the state with a new incarnation. This makes leases and cursors of the earlier
 * incarnation invalid.
 */
export function withIncarnation(state: StoreState, incarnation: number): StoreState {
  const { epochs, made } = state;
  return { ...state, incarnation, epochs: epochs + counterJump(), made: made + counterJump() };
}

/**
 * Returns the row of a session. The row has the current incarnation of the store, and not the
 * incarnation at its last change.
 */
export function rowOf(state: StoreState, session: SessionId): SessionRow | undefined {
  const found = state.sessions.get(session);
  return found && { ...found.row, incarnation: state.incarnation };
}

/** Returns the rows that match the filter, sorted by id. */
export function rowsOf(state: StoreState, filter: SessionRowFilter): readonly SessionRow[] {
  const { after = '', isClosed, limit = Number.POSITIVE_INFINITY } = filter;
  return [...state.sessions.keys()]
    .sort()
    .flatMap((session) => rowOf(state, session) ?? [])
    .filter((row) => (isClosed ?? row.isClosed) === row.isClosed && row.session > after)
    .filter((row) => filter.hasWork !== true || hasWork(row))
    .slice(0, limit);
}

/** Returns the records after an offset. Pages are short, so that readers need several pages. */
export function recordsOf(
  state: StoreState,
  session: SessionId,
  after: number,
): readonly LogRecord[] {
  const records = state.sessions.get(session)?.records ?? [];
  return records.filter(({ offset }) => offset > after).slice(0, pageLength);
}

const pageLength = 40;

/**
 * A transaction. It is a mutable copy of a state. The changes take effect only if the caller
 * commits `result`.
 */
export class StateDraft implements StoreTransaction {
  #state: StoreState;
  readonly #before: StoreState;

  constructor(state: StoreState) {
    this.#before = state;
    this.#state = state;
  }

  get hasChanged(): boolean {
    return this.#state !== this.#before;
  }

  get result(): StoreState {
    return this.#state;
  }

  session(session: SessionId): SessionRow | undefined {
    return rowOf(this.#state, session);
  }

  sessions(filter: SessionRowFilter): readonly SessionRow[] {
    return rowsOf(this.#state, filter);
  }

  producer(session: SessionId, producer: string): ProducerRow | undefined {
    return this.#state.sessions.get(session)?.producers.get(producer);
  }

  command(session: SessionId, key: string): CommandRow | undefined {
    return this.#state.sessions.get(session)?.commands.get(key);
  }

  records(session: SessionId, after: number): readonly LogRecord[] {
    return recordsOf(this.#state, session, after);
  }

  blob(hash: string): Uint8Array | undefined {
    return this.#state.blobs.get(hash);
  }

  blobSlice(hash: string, start: number, end: number): Uint8Array | undefined {
    return this.blob(hash)?.slice(start, end);
  }

  /** Returns no blobs, because the simulated agent stores none. */
  blobsOf(): readonly string[] {
    return [];
  }

  nextEpoch(): number {
    const epochs = this.#state.epochs + 1;
    this.#state = { ...this.#state, epochs };
    return epochs;
  }

  nextSession(): NewSessionNumbers {
    const made = this.#state.made + 1;
    this.#state = { ...this.#state, made };
    return { made, incarnation: this.#state.incarnation };
  }

  putSession(row: SessionRow): void {
    this.#change(row.session, (of) => ({ ...(of ?? { ...none }), row }));
  }

  putProducer(row: ProducerRow): void {
    this.#change(
      row.session,
      (of) => of && { ...of, producers: new Map(of.producers).set(row.producer, row) },
    );
  }

  putCommand(session: SessionId, key: string, row: CommandRow): void {
    this.#change(session, (of) => of && { ...of, commands: new Map(of.commands).set(key, row) });
  }

  insert(session: SessionId, records: readonly LogRecord[]): void {
    this.#change(session, (of) => of && { ...of, records: [...of.records, ...records] });
  }

  replace(session: SessionId, first: number, last: number, records: readonly LogRecord[]): void {
    this.#change(session, (of) => {
      const before = of?.records.filter(({ offset }) => offset < first) ?? [];
      const after = of?.records.filter(({ offset }) => offset > last) ?? [];
      return of && { ...of, records: [...before, ...records, ...after] };
    });
  }

  deleteSession(session: SessionId): void {
    this.#change(session, () => undefined);
  }

  putBlob(hash: string, bytes: Uint8Array): void {
    this.#state = { ...this.#state, blobs: new Map(this.#state.blobs).set(hash, bytes) };
  }

  /** Does nothing, because the simulated agent stores no blobs. */
  deleteUnusedBlobs(): void {}

  #change(
    session: SessionId,
    change: (of: StoredSession | undefined) => StoredSession | undefined,
  ): void {
    const sessions = new Map(this.#state.sessions);
    const changed = change(sessions.get(session));
    if (changed === undefined) sessions.delete(session);
    else sessions.set(session, changed);
    this.#state = { ...this.#state, sessions };
  }
}

const none = { records: [], producers: new Map(), commands: new Map() };
