import type { DraftRecord, SessionId, ToolCallId } from '@millrace/core';

/**
 * Describes the records that an admitted producer may write: the answer to one request, or the output of one
 * tool call.
 */
export type AdmitOptions =
  | { readonly for: 'request'; readonly turn: number }
  | {
      readonly for: 'call';
      readonly turn: number;
      readonly attempt: number;
      readonly toolCallId: ToolCallId;
    };

/**
 * A permission to write, as plain data that can be sent to another process. It becomes invalid when its
 * driver ends.
 */
export interface Admission {
  readonly session: SessionId;
  /** The epoch of the driver that gave the admission. */
  readonly driverEpoch: number;
  /** The name of the producer. */
  readonly producer: string;
}

/** Writes records on behalf of a driver, usually in another process. `Log.produce` returns a producer. */
export interface Producer {
  readonly session: SessionId;
  /**
   * The number of times that the admission was opened. A producer with a higher epoch fences all producers
   * with a lower epoch.
   */
  readonly epoch: number;
  readonly turn: number;
  /**
   * The number of this producer's attempt at the request. If the admission is opened again, this attempt is
   * superseded.
   */
  readonly attempt: number;
  /**
   * Stores all drafts or none of them. The sequence numbers are 1, 2, 3 …. If a sequence number is sent
   * again, the log acknowledges the append but does not store it again. A caller that received no answer can
   * therefore retry safely.
   */
  append(drafts: readonly DraftRecord[], sequence: number): Promise<AppendAck>;
}

/** The result of a producer's append. */
export interface AppendAck {
  /** The offset of the append's last record. */
  readonly through: number;
  /** True if an append with this sequence number was stored before. */
  readonly isRepeat: boolean;
}
