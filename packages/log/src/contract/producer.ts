import type { DraftRecord, SessionId, ToolCallId } from '@millrace/core';

/** What somebody else may write for a driver: the answer to one request, or the work of one call. */
export type AdmitOptions =
  | { readonly for: 'request'; readonly turn: number }
  | {
      readonly for: 'call';
      readonly turn: number;
      readonly attempt: number;
      readonly toolCallId: ToolCallId;
    };

/** A permission, as plain data: it can be handed to another process. It ends with its driver. */
export interface Admission {
  readonly session: SessionId;
  /** Of the driver that gave it. */
  readonly driverEpoch: number;
  readonly producer: string;
}

/** Whoever writes by an admission. */
export interface Producer {
  readonly session: SessionId;
  /** Rises each time the admission is opened. */
  readonly epoch: number;
  readonly turn: number;
  /** Its own try at the request: opening again gives the next one and supersedes the one before. */
  readonly attempt: number;
  /**
   * Stores the drafts, all or none. Sequences count 1, 2, 3 …; the same one again is acknowledged and
   * stored once, so that a caller who did not hear the answer may ask again.
   */
  append(drafts: readonly DraftRecord[], sequence: number): Promise<Acknowledged>;
}

export interface Acknowledged {
  readonly through: number;
  readonly isRepeat: boolean;
}
