import type { Batch, LogRecord } from '@millrace/core';

/** What one process did and was told, in its own order. Nothing is known of the order between processes. */
export type HistoryEvent = { readonly process: string } & (
  | Tried
  /** It was told that the append is stored, and that nothing of it is after this offset. */
  | { readonly type: 'stored'; readonly append: string; readonly through: number }
  /** It was told that nothing was stored. */
  | { readonly type: 'refused'; readonly append: string }
  | Asked
  | (Listened & { readonly type: 'heard'; readonly batch: Batch })
  /** It was told, or could know, that there is nothing more for now. */
  | (Listened & { readonly type: 'caught_up' })
  /** It was told that nothing more will ever come. */
  | (Listened & { readonly type: 'ended' })
);

export interface Listened {
  readonly session: string;
  /** Which one of those in the process that listen to the session. */
  readonly ear?: string;
}

/** Before it is asked for, so that what a dead process may have stored is known. */
export interface Tried {
  readonly type: 'tried';
  /** The same again is the same append again: it may be stored once. */
  readonly append: string;
  readonly session: string;
  /** As `encodeDraft` writes them. No two appends may have the same one. */
  readonly drafts: readonly string[];
  /** It was written by who drove the session: nobody who drove before may write any more. */
  readonly isDrivers?: boolean;
}

/** A process begins to listen to a session. */
export interface Asked extends Listened {
  readonly type: 'asked';
  readonly from: number;
  /** Some process had been told of so much before this one started. */
  readonly atLeast: number;
}

export interface History {
  readonly events: readonly HistoryEvent[];
  /** What is read in the end, record by record. */
  readonly finals: ReadonlyMap<string, readonly LogRecord[]>;
}
