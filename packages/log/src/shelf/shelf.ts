import type { LogRecord, SessionId } from '@millrace/core';
import type { SessionFilter } from '../contract/session-info.ts';
import type { CommandRow, ProducerRow, SessionRow } from './rows.ts';

/** Where rows and records lie on this machine: synchronous, and the same for memory and SQLite. */
export interface Shelf extends ShelfReader {
  /** All of what `work` writes, or nothing if it throws. */
  transact<T>(work: (shelf: ShelfWriter) => T): T;
  /** Tells that another process may have written; gives the way to stop hearing of it. */
  watch(listener: () => void): () => void;
  close(): void;
}

export interface RowFilter extends Omit<SessionFilter, 'isWaiting'> {
  /** Only those in which something is begun and not finished. */
  readonly hasWork?: boolean | undefined;
}

export interface ShelfReader {
  session(session: SessionId): SessionRow | undefined;
  /** In the order of their ids. */
  sessions(filter: RowFilter): Iterable<SessionRow>;
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

export interface ShelfWriter extends ShelfReader {
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
