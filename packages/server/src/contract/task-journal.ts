import type {
  Batch,
  DraftRecord,
  ErrorInfo,
  FoldState,
  JsonObject,
  RunId,
  Stop,
  TraceContext,
} from '@millrace/core';

/**
 * The only writer of a task's session in this process, for sync and async agents. It takes the
 * lease at the first write and releases it when nothing was written for a while.
 */
export interface TaskJournal {
  readonly taskId: string;
  /** Returns the state after the last append, or reads it from the log. */
  state(): Promise<FoldState>;
  append(drafts: readonly DraftRecord[]): Promise<Batch>;
  /**
   * Starts a run of one turn: an answer to a message, or the handling of an event. Only one turn is
   * active at a time. The drafts of `about` are written in the same batch as the start of the run.
   */
  beginTurn(
    about?: (runId: RunId) => readonly DraftRecord[],
    trace?: TraceContext,
  ): Promise<JournalTurn>;
  /** Removes a command from the queue. `error` says why it had no effect. */
  consume(key: string, error?: ErrorInfo): Promise<void>;
  /** Completes pending writes and releases the lease. */
  close(): Promise<void>;
}

/** A turn that was started and not finished yet. */
export interface JournalTurn {
  readonly turn: number;
  readonly attempt: number;
  readonly runId: RunId;
  /** The epoch of the lease under which the turn is written. */
  readonly epoch: number;
  /** The turn's records follow this offset. */
  readonly after: number;
  /** The trace that the run belongs to. */
  readonly trace?: TraceContext | undefined;
  append(drafts: readonly DraftRecord[]): Promise<Batch>;
  /** Ends the run. All items of the turn must be finished before. */
  finish(stop: Stop, error?: { readonly code: string; readonly message: string }): Promise<void>;
}

/** The command that `event/send` queues on the task's log. */
export interface EventCommand {
  readonly type: 'event';
  readonly id: string;
  readonly content: JsonObject | null;
  /** A `TraceContext`: the trace that the handling belongs to. */
  readonly trace?: JsonObject;
}
