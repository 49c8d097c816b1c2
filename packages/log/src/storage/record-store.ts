import type { LogRecord, SessionId } from '@millrace/core';
import type { SessionFilter } from '../contract/session-info.ts';
import type { SnapshotPart } from '../contract/snapshot-store.ts';
import type { CommandRow, ProducerRow, SessionRow } from './rows.ts';

/**
 * Raw synchronous storage of rows and records. The log on top of it decides: leases, offsets, fencing,
 * settling. A store never looks into a row. `storeLog` creates the log.
 */
export interface RecordStore extends StoreReader {
  /** Runs `work` in a transaction. Nothing is stored if it throws. */
  transact<T>(work: (tx: StoreTransaction) => T): T;
  /** Calls the listener when another process may have written. Returns a function that stops it. */
  watch(listener: () => void): () => void;
  /** Closes the store. The log calls it once, when it is closed itself. */
  close(): void;
}

/** Which session rows `sessions` returns. */
export interface SessionRowFilter extends Omit<SessionFilter, 'isWaiting'> {
  /** Only sessions with open runs, open turns or queued commands. */
  readonly hasWork?: boolean | undefined;
}

/** The reads of a store. Inside a transaction they return what the transaction wrote. */
export interface StoreReader {
  /** The row of a session, as it was last put. */
  session(session: SessionId): SessionRow | undefined;
  /**
   * The rows that match, sorted by the code points of their ids: those after the id `after`, at most
   * `limit`.
   */
  sessions(filter: SessionRowFilter): Iterable<SessionRow>;
  /** The row of a producer, as it was last put. */
  producer(session: SessionId, producer: string): ProducerRow | undefined;
  /** The row of a command, as it was last put. */
  command(session: SessionId, key: string): CommandRow | undefined;
  /**
   * The records after an offset, in order, up to about `maxBytes`. Contains at least one record if
   * there is one. A page must not end inside a range that a snapshot covers: it continues to the end of
   * the range.
   */
  records(session: SessionId, after: number, maxBytes: number): readonly LogRecord[];
  /** The bytes of a blob. */
  blob(hash: string): Uint8Array | undefined;
  /** The bytes from `start` to `end`, without the one at `end`. */
  blobSlice(hash: string, start: number, end: number): Uint8Array | undefined;
  /** The hashes of the blobs that the session's records reference. */
  blobsOf(session: SessionId): readonly string[];
  /**
   * The parts of the session's snapshot from the number `from` on, in order, up to about `maxBytes`.
   * Contains at least one part if there is one. Absent: the store keeps no snapshots.
   */
  snapshotParts?(session: SessionId, from: number, maxBytes: number): readonly SnapshotPart[];
}

/** The numbers that the store gives to a new session. */
export interface NewSessionNumbers {
  /** The generation number. It is higher than that of every session before. */
  readonly made: number;
  /** The incarnation of the store. */
  readonly incarnation: number;
}

/** The writes of a store. All of them are stored together, or none. */
export interface StoreTransaction extends StoreReader {
  /** Returns a higher number each time. A number is never used again, even after deletions. */
  nextEpoch(): number;
  /** The numbers of a new session: a generation number like `nextEpoch`, and the store's incarnation. */
  nextSession(): NewSessionNumbers;
  /** Stores the row of a session, new or not. */
  putSession(row: SessionRow): void;
  /** Stores the row of a producer, new or not. */
  putProducer(row: ProducerRow): void;
  /** Stores the row of a command, new or not. */
  putCommand(session: SessionId, key: string, row: CommandRow): void;
  /** Appends records after the existing ones. Offsets can have gaps. */
  insert(session: SessionId, records: readonly LogRecord[]): void;
  /** Replaces the records from `first` to `last`, both included. */
  replace(session: SessionId, first: number, last: number, records: readonly LogRecord[]): void;
  /**
   * Deletes part 0 of the session's snapshot and its parts from the number `first` on, and stores the
   * new parts. Absent: the store keeps no snapshots.
   */
  putSnapshotParts?(session: SessionId, first: number, parts: readonly SnapshotPart[]): void;
  /**
   * Deletes the row of a session with its records, producers, commands and snapshot. Blobs stay.
   */
  deleteSession(session: SessionId): void;
  /**
   * Stores the blob if it is new. Each call adds a hold, which the next record that references the
   * blob releases. A held blob is not deleted.
   */
  putBlob(hash: string, bytes: Uint8Array, now: number): void;
  /** Deletes those blobs that no record references and that have no hold. */
  deleteUnusedBlobs(hashes: readonly string[]): void;
}

/**
 * A value that a synchronous store returns immediately and an asynchronous store returns as a
 * promise.
 */
export type Awaitable<T> = T | Promise<T>;

/** Records, with the session row at the moment when they were read. */
export interface RecordPage {
  readonly row: SessionRow | undefined;
  readonly records: readonly LogRecord[];
}

/** The reading side of a store. Every `RecordStore` is a `LogReader` that answers synchronously. */
export interface LogReader {
  session(session: SessionId): Awaitable<SessionRow | undefined>;
  /** Sorted by id. */
  sessions(filter: SessionRowFilter): Awaitable<Iterable<SessionRow>>;
  /**
   * The records after an offset, in order, up to about `maxBytes`. Contains at least one record if
   * there is one.
   */
  records(session: SessionId, after: number, maxBytes: number): Awaitable<readonly LogRecord[]>;
  /**
   * Reads the session row and its records together. For stores where each query is a round trip.
   */
  page?(session: SessionId, after: number, maxBytes: number): Promise<RecordPage>;
  blob(hash: string): Awaitable<Uint8Array | undefined>;
  /** The bytes from `start` to `end`, without the one at `end`. */
  blobSlice(hash: string, start: number, end: number): Awaitable<Uint8Array | undefined>;
  /** As in `StoreReader`. Absent: the store keeps no snapshots. */
  snapshotParts?(
    session: SessionId,
    from: number,
    maxBytes: number,
  ): Awaitable<readonly SnapshotPart[]>;
  /**
   * Calls the listener when other processes may have written to the sessions, or to any session if
   * none are named. Returns a function that stops it.
   */
  watch(listener: (sessions?: readonly SessionId[]) => void): () => void;
  close(): Awaitable<void>;
}

/**
 * Continues with a value, synchronously if it is available. This avoids needless waits on the hot
 * path.
 */
export function andThen<T, U>(
  answer: Awaitable<T>,
  next: (value: T) => Awaitable<U>,
): Awaitable<U> {
  return answer instanceof Promise ? answer.then(next) : next(answer);
}

/** The moments around a transaction at which a crash has different results. */
export const commitPoints = [
  'before-begin',
  'after-begin',
  'after-insert',
  'before-commit',
  'after-commit',
  'before-tell',
  'after-tell',
] as const;

export type CommitPoint = (typeof commitPoints)[number];

/** Called when a commit point is reached. Tests use it to kill the process there. */
export type OnCommitPoint = (point: CommitPoint) => void;
