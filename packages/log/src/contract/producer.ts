import type { DraftRecord, SessionId, ToolCallId } from '@millrace/core';

/** What an admitted producer may write: the answer to one request, or the output of one tool call. */
export type AdmitOptions =
  | { readonly for: 'request'; readonly turn: number }
  | {
      readonly for: 'call';
      readonly turn: number;
      readonly attempt: number;
      readonly toolCallId: ToolCallId;
    };

/** A permission to write, as plain data that can be sent to another process. It ends with its driver. */
export interface Admission {
  readonly session: SessionId;
  /** The epoch of the driver that gave the admission. */
  readonly driverEpoch: number;
  /** The name of the producer. */
  readonly producer: string;
}

/** Writes records for a driver, usually from another process. `Log.produce` opens one. */
export interface Producer {
  readonly session: SessionId;
  /** Increases each time the admission is opened. A higher epoch fences a lower one. */
  readonly epoch: number;
  readonly turn: number;
  /** This producer's attempt at the request. Opening the admission again supersedes it. */
  readonly attempt: number;
  /**
   * Stores all drafts or none. Sequences count 1, 2, 3 …. A repeated sequence is acknowledged and
   * stored only once, so a caller that got no answer can retry safely.
   */
  append(drafts: readonly DraftRecord[], sequence: number): Promise<AppendAck>;
}

/** The result of a producer's append. */
export interface AppendAck {
  /** The offset of the append's last record. */
  readonly through: number;
  /** True if this sequence was stored before. */
  readonly isRepeat: boolean;
}
