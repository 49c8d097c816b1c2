import type { ErrorInfo, JsonValue, RunId, Stop, ToolCallId, Usage } from '@millrace/core';
import type { ItemReference, Settled } from './settled-item.ts';

/** What comes next in a run, as plain data: for whoever has it done elsewhere. */
export type Plan =
  | { readonly do: 'request'; readonly turn: number }
  | {
      readonly do: 'calls';
      readonly turn: number;
      readonly attempt: number;
      readonly calls: readonly PlannedCall[];
      /** So many may run at once. */
      readonly maxParallel: number;
    }
  | ({ readonly do: 'done' } & RunEnd)
  /** Nothing waits to be answered, and no run was begun. */
  | { readonly do: 'idle' };

export interface PlannedCall {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  /** Somebody has to decide on it first. */
  readonly isAsked: boolean;
}

/** What a run came to. */
export interface RunEnd {
  readonly runId: RunId;
  readonly stop: Stop;
  /** What the assistant said last, where it is not too long. */
  readonly text: string;
  readonly isClipped: boolean;
  /** The answer as it was asked for by `output`. */
  readonly value?: JsonValue | undefined;
  /** The item that has the answer, where it is too large for `value`. */
  readonly valueAt?: ItemReference | undefined;
  readonly usage: Usage;
  readonly error?: ErrorInfo | undefined;
  /** Somebody said something that another run has to answer. */
  readonly isAsked: boolean;
}

export interface Advanced {
  /** Of the lease: requests and calls of the plan go on with it. */
  readonly epoch: number;
  readonly plan: Plan;
  /** What is done since the items that the caller knew, and how many he knows now. */
  readonly settled: readonly Settled[];
  readonly items: number;
  /** By this offset the log has all of that. */
  readonly through: number;
  /** When the session was made: steps that are told of it do not go on with another of its name. */
  readonly createdAt: number | undefined;
}
