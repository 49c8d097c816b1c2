import type { LogRecord, SessionId } from '@millrace/core';
import type { SessionFilter } from '../contract/session-info.ts';
import type { SnapshotPart } from '../contract/snapshot-store.ts';
import type { CommandRow, ProducerRow, SessionRow } from './rows.ts';

/**
 * Stores rows and records synchronously. `storeLog` creates a log on the store. That log makes all decisions
 * about leases, offsets, fencing and settling. A store does not interpret the content of a row.
 */
export interface RecordStore extends StoreReader {
  /** Runs `work` in a transaction. If `work` throws, the store keeps none of its writes. */
  transact<T>(work: (tx: StoreTransaction) => T): T;
  /** Calls the listener when another process may have written. Returns a function that stops the calls. */
  watch(listener: () => void): () => void;
  /** Closes the store. The log calls it once, when the log is closed. */
  close(): void;
}

/** Selects the session rows that `sessions` returns. */
export interface SessionRowFilter extends Omit<SessionFilter, 'isWaiting'> {
  /** If true, only sessions with open runs, open turns or queued commands. Default: all sessions. */
  readonly hasWork?: boolean | undefined;
}

/** The methods of a store that read. Inside a transaction, they see the writes of that transaction. */
export interface StoreReader {
  /** Returns the last stored row of a session. Returns undefined if there is no such row. */
  session(session: SessionId): SessionRow | undefined;
  /**
   * Returns the rows that match the filter, sorted by the code points of their ids. It starts after the id
   * `after` and returns at most `limit` rows.
   */
  sessions(filter: SessionRowFilter): Iterable<SessionRow>;
  /** Returns the last stored row of a producer. Returns undefined if there is no such row. */
  producer(session: SessionId, producer: string): ProducerRow | undefined;
  /** Returns the last stored row of a command. Returns undefined if there is no such row. */
  command(session: SessionId, key: string): CommandRow | undefined;
  /**
   * Returns the records after an offset, in order, up to about `maxBytes`. Returns at least one record if
   * there is one. A page must not end inside a range that a snapshot replaces. Such a page continues to the
   * end of the range.
   */
  records(session: SessionId, after: number, maxBytes: number): readonly LogRecord[];
  /** Returns the bytes of a blob. Returns undefined if it does not exist. */
  blob(hash: string): Uint8Array | undefined;
  /**
   * Returns the bytes from `start` to `end`, without the byte at `end`. Returns undefined if the blob does
   * not exist.
   */
  blobSlice(hash: string, start: number, end: number): Uint8Array | undefined;
  /** Returns the hashes of the blobs that the session's records reference. */
  blobsOf(session: SessionId): readonly string[];
  /**
   * Returns the parts of the session's snapshot, starting with the number `from`, in order, up to about
   * `maxBytes`. Returns at least one part if there is one. A store without this method stores no snapshots.
   */
  snapshotParts?(session: SessionId, from: number, maxBytes: number): readonly SnapshotPart[];
}

/** The numbers that the store gives to a new session. */
export interface NewSessionNumbers {
  /** The generation number. It is higher than the numbers of all earlier sessions. */
  readonly made: number;
  /** The incarnation of the store. */
  readonly incarnation: number;
}

/** The methods of a store that write. The store keeps all writes of a transaction, or none of them. */
export interface StoreTransaction extends StoreReader {
  /**
   * Returns a number that is higher than all numbers that it returned before, even after deletions and
   * restarts.
   */
  nextEpoch(): number;
  /** Returns the numbers of a new session. The generation number follows the same rule as `nextEpoch`. */
  nextSession(): NewSessionNumbers;
  /** Creates or replaces the row of a session. */
  putSession(row: SessionRow): void;
  /** Creates or replaces the row of a producer. */
  putProducer(row: ProducerRow): void;
  /** Creates or replaces the row of a command. */
  putCommand(session: SessionId, key: string, row: CommandRow): void;
  /** Appends records after the existing records. Offsets can have gaps. */
  insert(session: SessionId, records: readonly LogRecord[]): void;
  /** Replaces the records from `first` to `last`, including both. */
  replace(session: SessionId, first: number, last: number, records: readonly LogRecord[]): void;
  /**
   * Deletes part 0 of the session's snapshot and all parts whose number is `first` or higher. Then it
   * stores the new parts. A store without this method stores no snapshots.
   */
  putSnapshotParts?(session: SessionId, first: number, parts: readonly SnapshotPart[]): void;
  /**
   * Gives a session another id. Its records, producers and commands then belong to the new id, which no
   * session has. The log then stores the row with the new id. A store without this method copies a long session
   * in one transaction, and other work waits until the copy is complete.
   */
  renameSession?(from: SessionId, into: SessionId): void;
  /**
   * Deletes the row of a session with its records, producers, commands and snapshot. Blobs stay.
   */
  deleteSession(session: SessionId): void;
  /**
   * Stores the blob if it does not exist. Each call adds a hold. A blob with a hold must not be deleted. The
   * next record that references the blob releases one hold.
   */
  putBlob(hash: string, bytes: Uint8Array, now: number): void;
  /** Deletes the given blobs, except blobs that a record references or that have a hold. */
  deleteUnusedBlobs(hashes: readonly string[]): void;
}

/**
 * A value that a synchronous store returns immediately and an asynchronous store returns as a
 * promise.
 */
export type Awaitable<T> = T | Promise<T>;

/** Records, and the session row from the same moment. */
export interface RecordPage {
  readonly row: SessionRow | undefined;
  readonly records: readonly LogRecord[];
}

/** The reading methods of a store. Every `RecordStore` is a `LogReader` that answers synchronously. */
export interface LogReader {
  session(session: SessionId): Awaitable<SessionRow | undefined>;
  /** Returns the rows that match the filter, sorted by id. */
  sessions(filter: SessionRowFilter): Awaitable<Iterable<SessionRow>>;
  /**
   * Returns the records after an offset, in order, up to about `maxBytes`. Returns at least one record if
   * there is one.
   */
  records(session: SessionId, after: number, maxBytes: number): Awaitable<readonly LogRecord[]>;
  /**
   * Reads the session row and its records together. Stores have this method if each query is a separate round
   * trip to a server.
   */
  page?(session: SessionId, after: number, maxBytes: number): Promise<RecordPage>;
  blob(hash: string): Awaitable<Uint8Array | undefined>;
  /**
   * Returns the bytes from `start` to `end`, without the byte at `end`. Returns undefined if the blob does
   * not exist.
   */
  blobSlice(hash: string, start: number, end: number): Awaitable<Uint8Array | undefined>;
  /** The same as in `StoreReader`. A store without this method stores no snapshots. */
  snapshotParts?(
    session: SessionId,
    from: number,
    maxBytes: number,
  ): Awaitable<readonly SnapshotPart[]>;
  /**
   * Calls the listener when other processes may have written. The argument `sessions` lists the changed
   * sessions. If `sessions` is undefined, any session may have changed. Returns a function that stops the
   * calls.
   */
  watch(listener: (sessions?: readonly SessionId[]) => void): () => void;
  close(): Awaitable<void>;
}

/**
 * Calls `next` with a value. If the value is not a promise, it calls `next` synchronously. This avoids
 * needless waits in code that runs often.
 */
export function andThen<T, U>(
  answer: Awaitable<T>,
  next: (value: T) => Awaitable<U>,
): Awaitable<U> {
  return answer instanceof Promise ? answer.then(next) : next(answer);
}

/** The moments of a transaction at which a crash can have different results. */
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

/** Called when a transaction reaches a commit point. Tests use it to kill the process at that point. */
export type OnCommitPoint = (point: CommitPoint) => void;
