import type { Rows } from '../../contract/rows.ts';

/** What the suite is held against: a kind of store. */
export interface RowSubject {
  /** Is what one wrote there for the next one on the same store? */
  readonly isDurable: boolean;
  /** A new and empty store. It has no other time than this clock's. */
  create(clock: { now(): number }): Promise<RowStore>;
}

export interface RowStore {
  /** Rows on the store; where it is durable, also a second one beside the first. */
  open(): Promise<Rows>;
  /** Called once, when all are closed. */
  remove(): Promise<void>;
}

/** One claim; `run` rejects where it does not hold. */
export interface RowCase {
  readonly name: string;
  run(): Promise<void>;
}
