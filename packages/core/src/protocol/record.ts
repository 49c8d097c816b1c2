import type { Delta } from './delta.ts';
import type { Fact } from './fact.ts';

/** The version of the records' schema. */
export const recordVersion = 1;

interface RecordHead {
  readonly v: typeof recordVersion;
  /** Its place in the session's log: 1, 2, 3 … given by the store alone. */
  readonly offset: number;
  /** Milliseconds since 1970, by the writer's clock: to show, never to order by. */
  readonly time: number;
  /** 0 outside of any turn. */
  readonly turn: number;
  /** 0 where it belongs to no single try at the turn's request. */
  readonly attempt: number;
  /** Who wrote it: the driver, or whom the driver admitted for one request or call. */
  readonly producer: string;
}

export interface DeltaRecord extends RecordHead {
  readonly delta: Delta;
  readonly fact?: undefined;
}

export interface FactRecord extends RecordHead {
  readonly fact: Fact;
  readonly delta?: undefined;
}

/** What a writer hands to the log, which adds the rest. */
export type DraftRecord = { readonly turn: number; readonly attempt: number } & (
  | { readonly delta: Delta; readonly fact?: undefined }
  | { readonly fact: Fact; readonly delta?: undefined }
);

/** What the log holds. (The word is Record; TypeScript has a type of that name already.) */
export type LogRecord = DeltaRecord | FactRecord;

/**
 * What readers get: all that the log has after the offset `after`, up to `through`, in order. Offsets inside may
 * jump, because appends were merged or a turn was settled.
 */
export interface Batch {
  readonly after: number;
  readonly through: number;
  readonly records: readonly LogRecord[];
}
