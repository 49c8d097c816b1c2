import type { LogRecord, SessionId } from '@millrace/core';
import type { SessionFilter } from '../contract/session-info.ts';
import type { CommandRow, ProducerRow, SessionRow } from './rows.ts';

/**
 * Raw synchronous storage of rows and records. Implemented by the memory store and the SQLite
 * store.
 */
export interface RecordStore extends StoreReader {
  /** Runs `work` in a transaction. Nothing is stored if it throws. */
  transact<T>(work: (tx: StoreTransaction) => T): T;
  /** Calls the listener when another process may have written. Returns a function that stops it. */
  watch(listener: () => void): () => void;
  close(): void;
}

export interface SessionRowFilter extends Omit<SessionFilter, 'isWaiting'> {
  /** Only sessions with open runs, open turns or queued commands. */
  readonly hasWork?: boolean | undefined;
}

export interface StoreReader {
  session(session: SessionId): SessionRow | undefined;
  /** Sorted by id. */
  sessions(filter: SessionRowFilter): Iterable<SessionRow>;
  producer(session: SessionId, producer: string): ProducerRow | undefined;
  command(session: SessionId, key: string): CommandRow | undefined;
  /**
   * The records after an offset, in order, up to about `maxBytes`. Contains at least one record if
   * there is one.
   */
  records(session: SessionId, after: number, maxBytes: number): readonly LogRecord[];
  blob(hash: string): Uint8Array | undefined;
  /** The bytes from `start` to `end`, without the one at `end`. */
  blobSlice(hash: string, start: number, end: number): Uint8Array | undefined;
  /** The hashes of the blobs that the session's records reference. */
  blobsOf(session: SessionId): readonly string[];
}

/** The numbers that the store gives to a new session. */
export interface NewSessionNumbers {
  readonly made: number;
  readonly incarnation: number;
}

export interface StoreTransaction extends StoreReader {
  /** Returns a higher number each time. A number is never used again, even after deletions. */
  nextEpoch(): number;
  /** The numbers of a new session: a generation number like `nextEpoch`, and the store's incarnation. */
  nextSession(): NewSessionNumbers;
  putSession(row: SessionRow): void;
  putProducer(row: ProducerRow): void;
  putCommand(session: SessionId, key: string, row: CommandRow): void;
  /** Appends records after the existing ones. */
  insert(session: SessionId, records: readonly LogRecord[]): void;
  /** Replaces the records from `first` to `last`, both included. */
  replace(session: SessionId, first: number, last: number, records: readonly LogRecord[]): void;
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
