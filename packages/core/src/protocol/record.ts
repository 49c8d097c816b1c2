import type { Delta } from './delta.ts';
import type { Fact } from './fact.ts';

/** The version of the record format. */
export const recordVersion = 1;

interface RecordHead {
  readonly v: typeof recordVersion;
  /** The position in the session's log: 1, 2, 3 … assigned by the store. */
  readonly offset: number;
  /** Milliseconds since 1970 on the writer's clock. Use it for display, never for ordering. */
  readonly time: number;
  /** The turn. It is 0 outside of any turn. */
  readonly turn: number;
  /** The attempt. It is 0 if the record does not belong to one attempt at the turn's request. */
  readonly attempt: number;
  /** The writer: the driver, or a producer that the driver admitted for one request or call. */
  readonly producer: string;
  /**
   * The links of the session's hash chain that end at this record. Usually the last record of each batch has
   * one link. Default: none, because the session has no chain.
   */
  readonly links?: readonly string[];
}

/** A record with a delta. */
export interface DeltaRecord extends RecordHead {
  readonly delta: Delta;
  readonly fact?: undefined;
}

/** A record with a fact. */
export interface FactRecord extends RecordHead {
  readonly fact: Fact;
  readonly delta?: undefined;
}

/** The fields of a record that a writer provides. The log adds the other fields. */
export type DraftRecord = { readonly turn: number; readonly attempt: number } & (
  | { readonly delta: Delta; readonly fact?: undefined }
  | { readonly fact: Fact; readonly delta?: undefined }
);

/** A record of the log. (It is not called Record because TypeScript has a type of that name.) */
export type LogRecord = DeltaRecord | FactRecord;

/**
 * All records after the offset `after`, up to and including `through`, in order. The offsets in a
 * batch can have gaps, because appends were merged or a turn was settled.
 */
export interface Batch {
  readonly after: number;
  readonly through: number;
  readonly records: readonly LogRecord[];
}
