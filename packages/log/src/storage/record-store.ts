import type { LogRecord, SessionId } from '@millrace/core';
import type { SessionFilter } from '../contract/session-info.ts';
import type { CommandRow, ProducerRow, SessionRow } from './rows.ts';

/** Where rows and records lie on this machine: synchronous, and the same for memory and SQLite. */
export interface RecordStore extends StoreReader {
  /** All of what `work` writes, or nothing if it throws. */
  transact<T>(work: (tx: StoreTransaction) => T): T;
  /** Tells that another process may have written; gives the way to stop hearing of it. */
  watch(listener: () => void): () => void;
  close(): void;
}

export interface SessionRowFilter extends Omit<SessionFilter, 'isWaiting'> {
  /** Only those in which something is begun and not finished. */
  readonly hasWork?: boolean | undefined;
}

export interface StoreReader {
  session(session: SessionId): SessionRow | undefined;
  /** In the order of their ids. */
  sessions(filter: SessionRowFilter): Iterable<SessionRow>;
  producer(session: SessionId, producer: string): ProducerRow | undefined;
  command(session: SessionId, key: string): CommandRow | undefined;
  /** After an offset, in order, until there are about so many bytes of them; at least one if there is one. */
  records(session: SessionId, after: number, maxBytes: number): readonly LogRecord[];
  blob(hash: string): Uint8Array | undefined;
  /** From one byte up to another, the end excluded. */
  blobSlice(hash: string, start: number, end: number): Uint8Array | undefined;
  /** Those that the session's records name. */
  blobsOf(session: SessionId): readonly string[];
}

export interface StoreTransaction extends StoreReader {
  /** Higher each time, and never the same again, whatever is deleted. */
  nextEpoch(): number;
  /** The same for sessions. */
  nextSession(): number;
  putSession(row: SessionRow): void;
  putProducer(row: ProducerRow): void;
  putCommand(session: SessionId, key: string, row: CommandRow): void;
  /** They follow what is there. */
  insert(session: SessionId, records: readonly LogRecord[]): void;
  /** Instead of those from one offset to another, both included. */
  replace(session: SessionId, first: number, last: number, records: readonly LogRecord[]): void;
  deleteSession(session: SessionId): void;
  /** Stores it where it is not there yet, and holds it until a record names it, once for each time. */
  putBlob(hash: string, bytes: Uint8Array, now: number): void;
  /** Those of them that no session's records name and nobody holds. */
  deleteUnusedBlobs(hashes: readonly string[]): void;
}

/** What a store on this machine has at once, and one elsewhere a moment later. */
export type Awaitable<T> = T | Promise<T>;

/** Records, and the session as it was at the moment when they were read. */
export interface RecordPage {
  readonly row: SessionRow | undefined;
  readonly records: readonly LogRecord[];
}

/** The reading half of a store; every tx is one that has its answers at once. */
export interface LogReader {
  session(session: SessionId): Awaitable<SessionRow | undefined>;
  /** In the order of their ids. */
  sessions(filter: SessionRowFilter): Awaitable<Iterable<SessionRow>>;
  /** After an offset, in order, until there are about so many bytes of them; at least one if there is one. */
  records(session: SessionId, after: number, maxBytes: number): Awaitable<readonly LogRecord[]>;
  /** Both in one, for a store where to ask twice takes twice as long. */
  page?(session: SessionId, after: number, maxBytes: number): Promise<RecordPage>;
  blob(hash: string): Awaitable<Uint8Array | undefined>;
  /** From one byte up to another, the end excluded. */
  blobSlice(hash: string, start: number, end: number): Awaitable<Uint8Array | undefined>;
  /** Tells that others may have written, to these or, where none are named, to any. Gives the way out. */
  watch(listener: (sessions?: readonly SessionId[]) => void): () => void;
  close(): Awaitable<void>;
}

/** What follows from an answer: at once where it is there, so that nobody waits for nothing. */
export function andThen<T, U>(
  answer: Awaitable<T>,
  next: (value: T) => Awaitable<U>,
): Awaitable<U> {
  return answer instanceof Promise ? answer.then(next) : next(answer);
}

/** The moments around a transaction at which a process may die and something else is true than before. */
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

/** Hears when a point is reached: for tests, which end their process there. */
export type OnPoint = (point: CommitPoint) => void;
