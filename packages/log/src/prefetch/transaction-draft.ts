import type { LogRecord, SessionId } from '@millrace/core';
import type { SnapshotPart } from '../contract/snapshot-store.ts';
import { randomIncarnation } from '../storage/incarnation.ts';
import type { NewSessionNumbers, StoreTransaction } from '../storage/record-store.ts';
import type { CommandRow, ProducerRow, SessionRow } from '../storage/rows.ts';
import { type FetchedRows, NotFetched } from './fetched-rows.ts';
import { BlobChanges, SessionDraft } from './session-draft.ts';

/** New parts of a snapshot. They replace part 0 and all parts whose number is `first` or higher. */
interface SnapshotChange {
  /** The generation number of the session. */
  readonly made: number;
  readonly first: number;
  readonly parts: readonly SnapshotPart[];
}

/**
 * A transaction in memory. It contains the fetched rows and the changes to write. A read of a row that was
 * not fetched throws `NotFetched`.
 */
export class TransactionDraft implements StoreTransaction {
  readonly #fetched: FetchedRows;
  readonly #sessions = new Map<SessionId, SessionDraft>();
  readonly blobChanges: BlobChanges = new BlobChanges();
  /** The generation numbers of deleted sessions. */
  readonly deletedSessions: Set<number> = new Set();
  /** The changes to snapshots, in order. */
  readonly snapshotChanges: SnapshotChange[] = [];
  #epochs = 0;
  #made = 0;

  constructor(fetched: FetchedRows) {
    this.#fetched = fetched;
  }

  get sessionDrafts(): Iterable<SessionDraft> {
    return this.#sessions.values();
  }

  /** True if the transaction has changes to write. */
  get hasChanged(): boolean {
    const { puts, dropped } = this.blobChanges;
    const hasSessions = [...this.#sessions.values()].some(({ hasChanged }) => hasChanged);
    const hasBlobs = puts.size > 0 || dropped.size > 0;
    const hasSnapshots = this.snapshotChanges.length > 0;
    return hasSessions || this.deletedSessions.size > 0 || hasBlobs || hasSnapshots;
  }

  session(session: SessionId): SessionRow | undefined {
    return this.#draft(session).row;
  }

  producer(session: SessionId, producer: string): ProducerRow | undefined {
    return this.#draft(session).producer(producer);
  }

  command(session: SessionId, key: string): CommandRow | undefined {
    return this.#draft(session).command(key);
  }

  /** Returns all records after an offset without a size limit, because they are already in memory. */
  records(session: SessionId, after: number): readonly LogRecord[] {
    return this.#draft(session).records(after);
  }

  blobsOf(session: SessionId): readonly string[] {
    return this.#draft(session).blobs();
  }

  nextEpoch(): number {
    const number = this.#fetched.epochs[this.#epochs++];
    if (number === undefined) throw new NotFetched({ what: 'epoch' });
    return number;
  }

  nextSession(): NewSessionNumbers {
    const made = this.#fetched.made[this.#made++];
    if (made === undefined) throw new NotFetched({ what: 'made' });
    return { made, incarnation: this.#fetched.incarnation ?? randomIncarnation() };
  }

  putSession(row: SessionRow): void {
    this.#draft(row.session).putRow(row);
  }

  putProducer(row: ProducerRow): void {
    this.#change(row.session).producers.set(row.producer, row);
  }

  putCommand(session: SessionId, key: string, row: CommandRow): void {
    this.#change(session).commands.set(key, row);
  }

  insert(session: SessionId, records: readonly LogRecord[]): void {
    this.#change(session).insert(records);
  }

  replace(session: SessionId, first: number, last: number, records: readonly LogRecord[]): void {
    this.#change(session).replace(first, last, records);
  }

  renameSession(from: SessionId, into: SessionId): void {
    this.#sessions.set(into, this.#change(from));
    this.#setMissing(from);
  }

  deleteSession(session: SessionId): void {
    const stored = this.#fetched.sessions.get(session);
    if (stored !== undefined) this.deletedSessions.add(stored.row.made);
    this.#setMissing(session);
  }

  #setMissing(session: SessionId): void {
    const empty = new SessionDraft(session, undefined, this.blobChanges);
    empty.hasChanged = true;
    this.#sessions.set(session, empty);
  }

  putBlob(hash: string, bytes: Uint8Array, now: number): void {
    this.blobChanges.put(hash, bytes, now);
  }

  deleteUnusedBlobs(hashes: readonly string[]): void {
    for (const hash of hashes) this.blobChanges.dropped.add(hash);
  }

  putSnapshotParts(session: SessionId, first: number, parts: readonly SnapshotPart[]): void {
    const made = this.#draft(session).row?.made;
    if (made !== undefined) this.snapshotChanges.push({ made, first, parts });
  }

  // The log never calls these methods inside a transaction.
  sessions(): never {
    throw new TypeError('a transaction does not list sessions');
  }

  blob(): never {
    throw new TypeError('a transaction does not read blobs');
  }

  blobSlice(): never {
    throw new TypeError('a transaction does not read blobs');
  }

  #change(session: SessionId): SessionDraft {
    const draft = this.#draft(session);
    draft.hasChanged = true;
    return draft;
  }

  #draft(session: SessionId): SessionDraft {
    const known = this.#sessions.get(session);
    if (known !== undefined) return known;
    if (!this.#fetched.sessions.has(session)) throw new NotFetched({ what: 'session', session });
    const draft = new SessionDraft(session, this.#fetched.sessions.get(session), this.blobChanges);
    this.#sessions.set(session, draft);
    return draft;
  }
}
