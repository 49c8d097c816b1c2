import type { LogRecord, SessionId } from '@millrace/core';
import type { SessionRow } from '../shelf/rows.ts';
import type { RowFilter } from '../shelf/shelf.ts';

/** What a store on this machine has at once, and one elsewhere a moment later. */
export type Awaitable<T> = T | Promise<T>;

/** Records, and the session as it was at the moment when they were read. */
export interface Page {
  readonly row: SessionRow | undefined;
  readonly records: readonly LogRecord[];
}

/** The reading half of a store; every shelf is one that has its answers at once. */
export interface LogReader {
  session(session: SessionId): Awaitable<SessionRow | undefined>;
  /** In the order of their ids. */
  sessions(filter: RowFilter): Awaitable<Iterable<SessionRow>>;
  /** After an offset, in order, until there are about so many bytes of them; at least one if there is one. */
  records(session: SessionId, after: number, maxBytes: number): Awaitable<readonly LogRecord[]>;
  /** Both in one, for a store where to ask twice takes twice as long. */
  page?(session: SessionId, after: number, maxBytes: number): Promise<Page>;
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
