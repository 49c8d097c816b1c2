import { isMillraceError, type LogRecord, type SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import { referencedBlobs } from '../storage/blob-references.ts';
import { ChunkReader, type ChunkRow, toChunkRows } from '../storage/chunk-rows.ts';
import { counterJump, randomIncarnation } from '../storage/incarnation.ts';
import type {
  NewSessionNumbers,
  RecordStore,
  SessionRowFilter,
  StoreTransaction,
} from '../storage/record-store.ts';
import type { CommandRow, ProcessIdentity, ProducerRow, SessionRow } from '../storage/rows.ts';
import { decodeSessionRow, encodeSessionRow, hasWork } from '../storage/session-row.ts';
import {
  blobPieceBytes,
  blobPieces,
  createTables,
  type DurableObjectStorage,
  type SqlValue,
  textPieces,
} from './sql-tables.ts';

type Row = Readonly<Record<string, SqlValue>>;

/** SQL for a column that contains the incarnation of the store. */
const incarnation = "(SELECT value FROM millrace_meta WHERE name = 'incarnation') AS incarnation";

/** The number of rows of `millrace_chunks` that one query reads. */
const chunksPerQuery = 64;

/** The state that all logs on one storage share. */
interface SharedState {
  /** Called after each commit of another log on the same storage. */
  readonly watchers: Set<() => void>;
  /** Identifies this instance of the object. Only one instance can use the storage at a time. */
  readonly instance: ProcessIdentity;
}

const sharedStates = new WeakMap<DurableObjectStorage, SharedState>();

function sharedStateOf(storage: DurableObjectStorage): SharedState {
  const known = sharedStates.get(storage);
  if (known !== undefined) return known;
  const place = { host: 'durable object', boot: '', space: '', pid: 0 };
  const shared = {
    watchers: new Set<() => void>(),
    instance: { ...place, started: crypto.randomUUID() },
  };
  sharedStates.set(storage, shared);
  return shared;
}

/**
 * Stores everything in the SQLite database of a Durable Object. The object is the only process that
 * uses it, and each call is synchronous. The platform replicates the database and checks its pages.
 */
export class DurableObjectStore implements RecordStore, StoreTransaction {
  readonly #storage: DurableObjectStorage;
  readonly #shared: SharedState;
  #watcher: (() => void) | undefined;
  /** The generation numbers of sessions that this transaction has read. Each transaction clears the map. */
  readonly #made = new Map<SessionId, number>();

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#guard(() => createTables(storage));
    this.#shared = sharedStateOf(storage);
  }

  /** The identity of this instance, for leases. */
  get instance(): ProcessIdentity {
    return this.#shared.instance;
  }

  transact<T>(work: (tx: StoreTransaction) => T): T {
    const value = this.#guard(() => {
      this.#made.clear();
      try {
        return this.#storage.transactionSync(() => work(this));
      } finally {
        // The transaction was rolled back. It may have created sessions, so the cached generation numbers are
        // invalid.
        this.#made.clear();
      }
    });
    for (const notify of this.#shared.watchers)
      if (notify !== this.#watcher) queueMicrotask(notify);
    return value;
  }

  watch(listener: () => void): () => void {
    this.#watcher = listener;
    this.#shared.watchers.add(listener);
    return () => this.#shared.watchers.delete(listener);
  }

  close(): void {
    if (this.#watcher !== undefined) this.#shared.watchers.delete(this.#watcher);
  }

  session(session: SessionId): SessionRow | undefined {
    const query = `SELECT columns, ${incarnation} FROM millrace_sessions WHERE id = ?`;
    const [row] = this.#run(query, session);
    const found = row && toSessionRow(row);
    if (found === undefined) this.#made.delete(session);
    else this.#made.set(session, found.made);
    return found;
  }

  *sessions(filter: SessionRowFilter): Generator<SessionRow> {
    const { after = '', isClosed, limit } = filter;
    const conditions = [
      'id > ?',
      ...(isClosed === undefined ? [] : [`is_closed = ${Number(isClosed)}`]),
      ...(filter.hasWork ? ['has_work = 1'] : []),
    ];
    const count = limit === undefined || !Number.isFinite(limit) ? -1 : limit;
    const query = `SELECT columns, ${incarnation} FROM millrace_sessions WHERE ${conditions.join(' AND ')} ORDER BY id LIMIT ?`;
    for (const row of this.#run(query, after, count)) yield toSessionRow(row);
  }

  producer(session: SessionId, producer: string): ProducerRow | undefined {
    // A producer name may contain characters that UTF-8 cannot encode. JSON escapes them.
    const key = JSON.stringify(producer);
    const query = 'SELECT state FROM millrace_producers WHERE made = ? AND name = ?';
    return this.#state<ProducerRow>(query, this.#madeOf(session), key);
  }

  command(session: SessionId, key: string): CommandRow | undefined {
    const query = 'SELECT state FROM millrace_commands WHERE made = ? AND key = ?';
    return this.#state<CommandRow>(query, this.#madeOf(session), JSON.stringify(key));
  }

  records(session: SessionId, after: number, maxBytes: number): readonly LogRecord[] {
    const row = this.session(session);
    if (row === undefined) return [];
    const reader = new ChunkReader(session, after);
    for (;;) {
      const chunks = this.#chunks(
        row.made,
        reader.end + 1,
        Number.MAX_SAFE_INTEGER,
        chunksPerQuery,
      );
      for (const chunk of chunks) {
        reader.add(chunk);
        // All records of a row can be at or before the start offset. A page needs at least one record, so the
        // loop then reads the next row.
        if (reader.bytes >= maxBytes && reader.records.length > 0) return reader.records;
      }
      if (chunks.length === 0) break;
    }
    if (reader.end < row.through) throw reader.missing();
    return reader.records;
  }

  blob(hash: string): Uint8Array | undefined {
    return this.blobSlice(hash, 0, Number.POSITIVE_INFINITY);
  }

  /** Reads only the pieces that the slice needs. */
  blobSlice(hash: string, start: number, end: number): Uint8Array | undefined {
    const first = Math.floor(start / blobPieceBytes);
    const last = Math.min(Math.floor(end / blobPieceBytes), 2 ** 31);
    const query =
      'SELECT piece, bytes FROM millrace_blobs WHERE hash = ? AND piece BETWEEN ? AND ? ORDER BY piece';
    const pieces = this.#run(query, hash, first, last).map(
      ({ bytes }) => new Uint8Array(bytes as ArrayBuffer),
    );
    if (pieces.length === 0) {
      const known = this.#run('SELECT 1 FROM millrace_blobs WHERE hash = ? LIMIT 1', hash);
      return known.length === 0 ? undefined : new Uint8Array();
    }
    const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    const before = first * blobPieceBytes;
    return whole.slice(start - before, Math.max(start, end) - before);
  }

  blobsOf(session: SessionId): readonly string[] {
    const query = 'SELECT hash FROM millrace_blob_uses WHERE made = ?';
    return this.#run(query, this.#madeOf(session)).map(({ hash }) => String(hash));
  }

  nextEpoch(): number {
    return this.#next('epochs');
  }

  nextSession(): NewSessionNumbers {
    const [row] = this.#run(`SELECT ${incarnation}`);
    return { made: this.#next('sessions'), incarnation: Number(row?.['incarnation']) };
  }

  /** Starts a new incarnation. It is called after an earlier state of the storage was restored. */
  renewIncarnation(): void {
    this.transact(() => {
      const set = 'UPDATE millrace_meta SET value = ? WHERE name = ?';
      this.#run(set, randomIncarnation(), 'incarnation');
      const jump =
        "UPDATE millrace_meta SET value = value + ? WHERE name IN ('epochs', 'sessions')";
      this.#run(jump, counterJump());
    });
  }

  putSession(row: SessionRow): void {
    const values = [row.session, row.made, Number(row.isClosed), Number(hasWork(row))];
    const columns = encodeSessionRow(row);
    this.#run(
      'INSERT OR REPLACE INTO millrace_sessions VALUES (?, ?, ?, ?, ?)',
      ...values,
      columns,
    );
    this.#made.set(row.session, row.made);
  }

  putProducer(row: ProducerRow): void {
    const values = [this.#madeOf(row.session), JSON.stringify(row.producer), JSON.stringify(row)];
    this.#run('INSERT OR REPLACE INTO millrace_producers VALUES (?, ?, ?)', ...values);
  }

  putCommand(session: SessionId, key: string, row: CommandRow): void {
    const values = [this.#madeOf(session), JSON.stringify(key), JSON.stringify(row)];
    this.#run('INSERT OR REPLACE INTO millrace_commands VALUES (?, ?, ?)', ...values);
  }

  insert(session: SessionId, records: readonly LogRecord[]): void {
    const [first, last] = [records[0], records.at(-1)];
    if (first === undefined || last === undefined) return;
    const made = this.#madeOf(session);
    this.#putChunks(made, toChunkRows(first.offset, last.offset, records));
    for (const hash of referencedBlobs(records)) this.#useBlob(made, hash, true);
  }

  replace(session: SessionId, first: number, last: number, records: readonly LogRecord[]): void {
    const made = this.#madeOf(session);
    const rows = this.#chunks(made, first, last);
    const reader = new ChunkReader(session, (rows[0]?.first ?? first) - 1);
    for (const row of rows) reader.add(row, true);
    const [from, to] = [
      Math.min(first, rows[0]?.first ?? first),
      Math.max(last, rows.at(-1)?.last ?? last),
    ];
    const kept = (isKept: (offset: number) => boolean) =>
      reader.records.filter(({ offset }) => isKept(offset));
    const drop = 'DELETE FROM millrace_chunks WHERE made = ? AND last BETWEEN ? AND ?';
    this.#run(drop, made, from, to);
    const before = kept((offset) => offset < first);
    const after = kept((offset) => offset > last);
    this.#putChunks(made, toChunkRows(from, to, [...before, ...records, ...after]));
    this.#countUses(
      made,
      kept((offset) => offset >= first && offset <= last),
      records,
    );
  }

  deleteSession(session: SessionId): void {
    const made = this.#madeOf(session);
    for (const table of ['chunks', 'producers', 'commands', 'blob_uses', 'sessions'])
      this.#run(`DELETE FROM millrace_${table} WHERE made = ?`, made);
    this.#made.delete(session);
  }

  putBlob(hash: string, bytes: Uint8Array, now: number): void {
    const known = this.#run('SELECT 1 FROM millrace_blobs WHERE hash = ? LIMIT 1', hash);
    if (known.length === 0)
      for (const [piece, part] of blobPieces(bytes).entries())
        this.#run('INSERT INTO millrace_blobs VALUES (?, ?, ?)', hash, piece, part);
    const hold =
      'INSERT INTO millrace_blob_holds VALUES (?1, 1, ?2) ON CONFLICT DO UPDATE SET count = count + 1, put_at = ?2';
    this.#run(hold, hash, now);
  }

  deleteUnusedBlobs(hashes: readonly string[]): void {
    const drop = `DELETE FROM millrace_blobs WHERE hash = ?1
      AND NOT EXISTS (SELECT 1 FROM millrace_blob_uses WHERE hash = ?1)
      AND NOT EXISTS (SELECT 1 FROM millrace_blob_holds WHERE hash = ?1)`;
    for (const hash of hashes) this.#run(drop, hash);
  }

  /**
   * Deletes blobs that were stored before a time and that no record references. Returns the number of
   * deleted blobs.
   */
  deleteForgottenBlobs(before: number): number {
    return this.transact(() => {
      const held = this.#run('SELECT hash FROM millrace_blob_holds WHERE put_at < ?', before);
      const hashes = held.map(({ hash }) => String(hash));
      this.#run('DELETE FROM millrace_blob_holds WHERE put_at < ?', before);
      this.deleteUnusedBlobs(hashes);
      const isThere = 'SELECT 1 FROM millrace_blobs WHERE hash = ? LIMIT 1';
      return hashes.filter((hash) => this.#run(isThere, hash).length === 0).length;
    });
  }

  /** Reads the rows of records that overlap a range of offsets, at most `limit` of them. */
  #chunks(made: number, from: number, to: number, limit = -1): readonly ChunkRow[] {
    const query = `SELECT last, first, body FROM millrace_chunks
      WHERE made = ?1 AND last >= ?2 AND first <= ?3 AND last <= (
        SELECT max(last) FROM (
          SELECT last FROM millrace_chunks WHERE made = ?1 AND last >= ?2 AND piece = 0
          ORDER BY last LIMIT ?4
        )
      ) ORDER BY last, piece`;
    const chunks: ChunkRow[] = [];
    for (const { first, last, body } of this.#run(query, made, from, to, limit)) {
      const before = chunks.at(-1);
      const row = { first: Number(first), last: Number(last), body: String(body) };
      if (before?.last !== row.last) chunks.push(row);
      // The row is the next piece of the same chunk. The code joins the pieces here and not in SQL, because
      // SQLite limits the size of a result.
      else chunks[chunks.length - 1] = { ...row, body: before.body + row.body };
    }
    return chunks;
  }

  #putChunks(made: number, chunks: readonly ChunkRow[]): void {
    for (const { first, last, body } of chunks)
      for (const [piece, text] of textPieces(body).entries())
        this.#run(
          'INSERT INTO millrace_chunks VALUES (?, ?, ?, ?, ?)',
          made,
          last,
          piece,
          first,
          text,
        );
  }

  /** Updates the reference counts of blobs after the records `after` replaced the records `before`. */
  #countUses(made: number, before: readonly LogRecord[], after: readonly LogRecord[]): void {
    const known = new Set(referencedBlobs(before));
    // A blob releases its hold only when a record references it for the first time.
    for (const hash of referencedBlobs(after)) this.#useBlob(made, hash, !known.has(hash));
    for (const hash of referencedBlobs(before)) {
      const less = 'UPDATE millrace_blob_uses SET count = count - 1 WHERE made = ? AND hash = ?';
      this.#run(less, made, hash);
      const drop = 'DELETE FROM millrace_blob_uses WHERE made = ? AND hash = ? AND count <= 0';
      this.#run(drop, made, hash);
    }
  }

  #useBlob(made: number, hash: string, releasesHold: boolean): void {
    const more =
      'INSERT INTO millrace_blob_uses VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1';
    this.#run(more, made, hash);
    if (!releasesHold) return;
    this.#run('UPDATE millrace_blob_holds SET count = count - 1 WHERE hash = ?', hash);
    this.#run('DELETE FROM millrace_blob_holds WHERE hash = ? AND count <= 0', hash);
  }

  #next(name: string): number {
    const query = 'UPDATE millrace_meta SET value = value + 1 WHERE name = ? RETURNING value';
    return Number(this.#run(query, name)[0]?.['value']);
  }

  /**
   * Returns the session's generation number. Returns 0 if the session does not exist, because no session
   * has the number 0.
   */
  #madeOf(session: SessionId): number {
    return this.#made.get(session) ?? this.session(session)?.made ?? 0;
  }

  #state<T>(query: string, ...values: SqlValue[]): T | undefined {
    const [row] = this.#run(query, ...values);
    return row && (JSON.parse(String(row['state'])) as T);
  }

  #run(query: string, ...values: SqlValue[]): readonly Row[] {
    return this.#guard(() => this.#storage.sql.exec(query, ...values).toArray());
  }

  #guard<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw storageError(error);
    }
  }
}

function toSessionRow({ columns, incarnation: number }: Row): SessionRow {
  return decodeSessionRow(String(columns), Number(number));
}

function storageError(error: unknown): Error {
  if (isMillraceError(error)) return error;
  const text = error instanceof Error ? error.message : String(error);
  const isFull = /full|SQLITE_FULL|exceeded/i.test(text);
  const why = isFull
    ? 'the object is full; delete sessions, or use one object per user'
    : 'SQLite reported an error; the next call starts anew';
  const message = `Cannot use the log of this Durable Object: ${why} (${text})`;
  return new LogError('storage', message, {}, { cause: error });
}
