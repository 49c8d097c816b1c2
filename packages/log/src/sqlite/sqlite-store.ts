import type { DatabaseSync } from 'node:sqlite';
import { isMillraceError, type LogRecord, type SessionId } from '@millrace/core';
import type { SnapshotPart } from '../contract/snapshot-store.ts';
import type {
  NewSessionNumbers,
  OnCommitPoint,
  RecordStore,
  SessionRowFilter,
  StoreTransaction,
} from '../storage/record-store.ts';
import type { CommandRow, ProducerRow, SessionRow } from '../storage/rows.ts';
import { newSession } from '../storage/session-row.ts';
import { BlobTable } from './blob-table.ts';
import {
  checkedCommand,
  checkedProducer,
  commandChecksum,
  corruptRow,
  fromSqliteColumns,
  hasOnlyGrown,
  type SqliteSessionColumns,
  toProducerColumns,
  toSqliteColumns,
} from './checked-rows.ts';
import { ChunkTable } from './chunk-table.ts';
import { HighWaterMark } from './file/high-water-mark.ts';
import { checkLineage, type RewindEvent, renewIncarnation } from './file/lineage.ts';
import { checkpoint, copyDatabase, vacuum } from './maintenance.ts';
import { type DatabaseOptions, openDatabase } from './open-database.ts';
import { noWrites, PendingWrites } from './pending-writes.ts';
import { schemaVersion, tooNew } from './schema.ts';
import { prepareStatements, type Statements } from './statements.ts';
import { storageError } from './storage-error.ts';
import { watchFile } from './watch-file.ts';

interface SqliteStoreOptions extends DatabaseOptions {
  readonly onPoint?: OnCommitPoint | undefined;
  /** Called after each committed transaction. */
  readonly onCommit?: (() => void) | undefined;
  /** Called when the file was rewound. */
  readonly onRewound: (event: RewindEvent) => void;
}

/** Maximum number of cached session rows between transactions. */
const maxKnownRows = 1000;

/** A session that a commit changed. */
interface ChangedSession {
  readonly row: SessionRow;
  /** The number of the session's row in the file. Undefined if it is not known. */
  readonly key: number | undefined;
  readonly isDeleted: boolean;
}

/** Stores everything in one SQLite file. Several processes may open the file. */
export class SqliteStore implements RecordStore, StoreTransaction {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  readonly #chunks: ChunkTable;
  readonly #blobs: BlobTable;
  readonly #onPoint: OnCommitPoint | undefined;
  readonly #onCommit: (() => void) | undefined;
  /** A cache of the primary keys of session rows. It is cleared together with the cached rows. */
  readonly #keys = new Map<SessionId, number>();
  #pending: PendingWrites | undefined;
  /**
   * A cache of session rows that this connection has read or written. It is cleared when another connection
   * changes the file.
   */
  readonly #readRows = new Map<SessionId, SessionRow>();
  /** The data version of the file for which the cached rows are valid. */
  #knownVersion: number | undefined;
  /**
   * Sessions with a damaged row, and the error. Later calls throw this error too, because with a damaged
   * index some queries find the row and others do not.
   */
  readonly #damaged = new Map<SessionId, unknown>();
  readonly #mark: HighWaterMark;
  /** A session that the current transaction has changed. The mark describes this session. */
  #changed: ChangedSession | undefined;

  constructor({ onPoint, onCommit, onRewound, ...options }: SqliteStoreOptions) {
    this.#path = options.path;
    this.#onPoint = onPoint;
    this.#onCommit = onCommit;
    const { path, durability } = options;
    [this.#database, this.#statements, this.#mark] = this.#guard(() => {
      const database = openDatabase(options);
      let mark: HighWaterMark | undefined;
      try {
        mark = new HighWaterMark(path);
        const reason = checkLineage(database, mark);
        if (durability === 'power') mark.sync();
        if (reason !== undefined) onRewound({ path, reason });
        return [database, prepareStatements(database), mark] as const;
      } catch (error) {
        mark?.close();
        database.close();
        throw error;
      }
    });
    this.#chunks = new ChunkTable(this.#statements);
    this.#blobs = new BlobTable(this.#statements);
  }

  transact<T>(work: (tx: StoreTransaction) => T): T {
    return this.#guard(() => {
      // The transaction takes the write lock at its start. A transaction that begins with a read can fail
      // later, when it needs the write lock.
      this.#onPoint?.('before-begin');
      this.#statements.begin.run();
      this.#changed = undefined;
      try {
        this.#noteOtherWriters();
        this.#onPoint?.('after-begin');
        this.#pending = new PendingWrites();
        const value = work(this);
        this.#flush();
        this.#onPoint?.('before-commit');
        this.#statements.commit.run();
        this.#onPoint?.('after-commit');
        this.#writeMark();
        this.#onCommit?.();
        return value;
      } catch (error) {
        this.#forgetRows();
        if (this.#database.isTransaction) this.#statements.rollback.run();
        throw error;
      } finally {
        this.#pending = undefined;
      }
    });
  }

  watch(listener: () => void): () => void {
    return watchFile(`${this.#path}-wal`, () => this.#dataVersion(), listener);
  }

  get isOpen(): boolean {
    return this.#database.isOpen;
  }

  checkpoint(): boolean {
    return this.#guard(() => {
      const erasures = this.#erasures();
      if (!checkpoint(this.#database)) return false;
      if (erasures > 0) this.#statements.finishErasures.run(erasures);
      return true;
    });
  }

  /**
   * True if redacted or deleted content may still be in the files, because no checkpoint has run after the
   * change.
   */
  get hasErasures(): boolean {
    return this.#guard(() => this.#erasures() > 0);
  }

  #erasures(): number {
    return Number(this.#statements.erasures.get()?.['erasures']);
  }

  vacuum(): Promise<number> {
    return this.#guardLong(this.#path, () => vacuum(this.#database));
  }

  backup(path: string): Promise<void> {
    return this.#guardLong(path, () => copyDatabase(this.#path, path));
  }

  close(): void {
    this.#guard(() => this.#database.close());
    this.#mark.close();
  }

  /** Starts a new incarnation. It is called after an earlier state of the file was restored. */
  renewIncarnation(): void {
    this.#forgetRows();
    this.#guard(() => renewIncarnation(this.#database, this.#mark));
  }

  /**
   * If another connection has written to the file, clears the cached rows of earlier transactions. That
   * connection may have changed sessions, the incarnation, or the version of the tables.
   */
  #noteOtherWriters(): void {
    const version = this.#dataVersion();
    if (version === this.#knownVersion && this.#readRows.size < maxKnownRows) return;
    this.#forgetRows();
    this.#assertVersion();
    this.#knownVersion = version;
  }

  #forgetRows(): void {
    this.#keys.clear();
    this.#readRows.clear();
  }

  /** Throws if a later version of the program has migrated the tables while this program runs. */
  #assertVersion(): void {
    const version = Number(this.#statements.version.get()?.['user_version']);
    if (version !== schemaVersion) throw tooNew(this.#path, version, schemaVersion);
  }

  #writeMark(): void {
    if (this.#changed === undefined) return;
    const { row, isDeleted } = this.#changed;
    const { incarnation, made, through, rewrites, epoch } = row;
    const key = this.#changed.key ?? this.#key(row.session);
    this.#mark.write({ incarnation, key, made, through, rewrites, epoch, isDeleted });
  }

  session(session: SessionId): SessionRow | undefined {
    const known = this.#pending && (this.#pending.row(session) ?? this.#readRows.get(session));
    if (known !== undefined) return known;
    const damage = this.#damaged.get(session);
    if (damage !== undefined) throw damage;
    return this.#guardSession(session, () => {
      const row = this.#statements.session.get(session) as SqliteSessionColumns | undefined;
      if (row === undefined) this.#assertMissing(session);
      else this.#keys.set(session, row.key);
      const found = row && fromSqliteColumns(row);
      if (found !== undefined && this.#pending !== undefined) this.#readRows.set(session, found);
      return found;
    });
  }

  *sessions(filter: SessionRowFilter): Generator<SessionRow> {
    this.#flush();
    const { after = '', isClosed, hasWork, limit } = filter;
    const closed = isClosed === undefined ? null : Number(isClosed);
    const count = limit === undefined || !Number.isFinite(limit) ? -1 : limit;
    const { sessions, sessionsWithWork } = this.#statements;
    const found = hasWork ? sessionsWithWork : sessions;
    const rows = this.#guard(() => found.all(after, closed, closed, count));
    for (const row of rows as unknown as readonly SqliteSessionColumns[]) yield toListedRow(row);
  }

  producer(session: SessionId, producer: string): ProducerRow | undefined {
    this.#flush();
    return this.#guard(() => {
      const row = this.#statements.producer.get(this.#key(session), producer);
      return row && checkedProducer(row, session, producer);
    });
  }

  command(session: SessionId, key: string): CommandRow | undefined {
    this.#flush();
    return this.#guard(() => {
      const row = this.#statements.command.get(this.#key(session), key);
      return row && checkedCommand(row, session, key);
    });
  }

  records(session: SessionId, after: number, maxBytes: number): readonly LogRecord[] {
    this.#flush();
    return this.#guard(() => {
      const owner = { session, key: this.#key(session) };
      return this.#chunks.read(owner, after, maxBytes);
    });
  }

  blob(hash: string): Uint8Array | undefined {
    return this.#guard(() => this.#blobs.get(hash));
  }

  blobSlice(hash: string, start: number, end: number): Uint8Array | undefined {
    return this.#guard(() => {
      if (this.#blobs.isUnsplit(hash)) this.#split(hash);
      return this.#blobs.slice(hash, start, end);
    });
  }

  /**
   * Divides a long blob that an earlier version stored in one row. Errors are ignored, because slices can
   * still be read from the whole blob.
   */
  #split(hash: string): void {
    try {
      this.transact(() => this.#blobs.split(hash));
    } catch (error) {
      if (isMillraceError(error) && error.code === 'corrupt') throw error;
    }
  }

  blobsOf(session: SessionId): readonly string[] {
    this.#flush();
    return this.#guard(() => this.#blobs.referencedBy(this.#key(session)));
  }

  snapshotParts(session: SessionId, from: number, maxBytes: number): readonly SnapshotPart[] {
    this.#flush();
    return this.#guard(() => {
      const found: SnapshotPart[] = [];
      let bytes = 0;
      for (const row of this.#statements.snapshotParts.iterate(this.#key(session), from)) {
        const body = String(row['body']);
        found.push({ part: Number(row['part']), body });
        bytes += body.length;
        if (bytes >= maxBytes) break;
      }
      return found;
    });
  }

  putSnapshotParts(session: SessionId, first: number, parts: readonly SnapshotPart[]): void {
    this.#flush();
    const key = this.#key(session);
    this.#statements.dropSnapshotParts.run(key, first);
    for (const { part, body } of parts) this.#statements.putSnapshotPart.run(key, part, body);
  }

  nextEpoch(): number {
    return Number(this.#statements.nextEpoch.get()?.['count']);
  }

  nextSession(): NewSessionNumbers {
    const row = this.#statements.nextSession.get();
    return { made: Number(row?.['made']), incarnation: Number(row?.['incarnation']) };
  }

  putSession(row: SessionRow): void {
    if (this.#pending !== undefined) this.#pending.putRow(row);
    else this.#putRow(row);
  }

  /**
   * Writes a session row. Most updates only extend the session. For these updates, a smaller statement is
   * used, which does not update the indexes.
   */
  #putRow(row: SessionRow): void {
    const before = this.#readRows.get(row.session);
    const fields = toSqliteColumns(row);
    const { through, changed_at, lease, chain = null, sum } = fields;
    if (before !== undefined && hasOnlyGrown(before, row)) {
      const key = this.#key(row.session);
      this.#statements.growSession.run(through, changed_at, lease, chain, sum, key);
    } else this.#statements.putSession.run(fields);
    this.#readRows.set(row.session, row);
    if (before === undefined || isAhead(row, before))
      this.#changed = { row, key: undefined, isDeleted: false };
  }

  putProducer(row: ProducerRow): void {
    this.#flush();
    const { state, sum } = toProducerColumns(row);
    this.#statements.putProducer.run(this.#key(row.session), row.producer, state, sum);
  }

  putCommand(session: SessionId, key: string, row: CommandRow): void {
    this.#flush();
    const fields = [row.offset, Number(row.isConsumed), commandChecksum(key, row)] as const;
    this.#statements.putCommand.run(this.#key(session), key, ...fields);
  }

  insert(session: SessionId, records: readonly LogRecord[]): void {
    if (this.#pending !== undefined) this.#pending.add(session, records);
    else this.#insert(session, records);
  }

  #insert(session: SessionId, records: readonly LogRecord[]): void {
    const key = this.#key(session);
    this.#chunks.append(key, records);
    this.#onPoint?.('after-insert');
    this.#blobs.use(key, records);
  }

  /** Executes the pending writes, so that the next statement sees them. */
  #flush(): void {
    const { rows, records } = this.#pending?.take() ?? noWrites;
    for (const row of rows) this.#putRow(row);
    for (const [session, added] of records) this.#insert(session, added);
  }

  replace(session: SessionId, first: number, last: number, records: readonly LogRecord[]): void {
    this.#flush();
    const key = this.#key(session);
    const replaced = this.#chunks.replace({ session, key }, first, last, records);
    this.#blobs.replace(key, replaced, records);
  }

  renameSession(from: SessionId, into: SessionId): void {
    this.#flush();
    const key = this.#key(from);
    this.#statements.renameSession.run(into, key);
    this.#keys.delete(from);
    this.#keys.set(into, key);
    this.#readRows.delete(from);
  }

  deleteSession(session: SessionId): void {
    this.#flush();
    const key = this.#key(session);
    const row = this.#readRows.get(session);
    if (row !== undefined) this.#changed = { row, key, isDeleted: true };
    for (const drop of this.#statements.dropSession) drop.run(key);
    this.#keys.delete(session);
    this.#readRows.delete(session);
  }

  putBlob(hash: string, bytes: Uint8Array, now: number): void {
    this.#blobs.put(hash, bytes, now);
  }

  /**
   * Deletes the blobs that are not used. It also stores that content was removed. If this process crashes,
   * the next process can then run the checkpoint.
   */
  deleteUnusedBlobs(hashes: readonly string[]): void {
    this.#flush();
    this.#statements.noteErasure.run();
    this.#blobs.dropUnused(hashes);
  }

  /** Deletes blobs that were stored before a time and that no record references. */
  deleteForgottenBlobs(before: number): void {
    this.transact(() => this.#blobs.dropForgotten(before));
  }

  /**
   * Returns the number of the session's row. Returns 0 if the session does not exist, because no row has
   * the number 0.
   */
  #key(session: SessionId): number {
    const known = this.#keys.get(session);
    if (known !== undefined) return known;
    const row = this.#statements.key.get(session);
    if (row === undefined) {
      this.#assertMissing(session);
      return 0;
    }
    const key = Number(row['key']);
    this.#keys.set(session, key);
    return key;
  }

  /** Throws `corrupt` if the session does exist, because this means that the index is damaged. */
  #assertMissing(session: SessionId): void {
    this.#keys.delete(session);
    if (this.#statements.hiddenSession.get(session, session) !== undefined)
      throw corruptRow('a session', { session }, 'its index entry is missing');
  }

  /** Returns a number that changes when another connection commits. */
  #dataVersion(): number {
    return this.#guard(() => Number(this.#statements.dataVersion.get()?.['data_version']));
  }

  async #guardLong<T>(path: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw storageError(error, path);
    }
  }

  #guardSession<T>(session: SessionId, run: () => T): T {
    try {
      return this.#guard(run);
    } catch (error) {
      const isDamaged = isMillraceError(error) && error.code === 'corrupt';
      if (isDamaged && this.#damaged.size < maxKnownRows) this.#damaged.set(session, error);
      throw error;
    }
  }

  #guard<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw storageError(error, this.#path);
    }
  }
}

/**
 * Returns whether a number of `after` is higher than in `before`. Only such a change lets the mark show that
 * a commit is missing.
 */
function isAhead(after: SessionRow, before: SessionRow): boolean {
  const { through, rewrites, epoch } = before;
  return after.through > through || after.rewrites > rewrites || after.epoch > epoch;
}

/**
 * Converts columns to a row of a list. A damaged row is only marked as damaged, so that the list of the other
 * sessions still works.
 */
function toListedRow(fields: SqliteSessionColumns): SessionRow {
  try {
    return fromSqliteColumns(fields);
  } catch (error) {
    if (!isMillraceError(error) || error.code !== 'corrupt') throw error;
    const { incarnation } = fields;
    const empty = newSession(String(fields.id) as SessionId, { made: 0, incarnation }, 0);
    return { ...empty, isDamaged: true };
  }
}
