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
 * The only object in this process that writes to a task's session. Sync and async agents use it. It acquires
 * the lease at the first write, and releases it after a period without writes.
 */
export interface TaskJournal {
  readonly taskId: string;
  /** Returns the state after the last append. If the journal has no state in memory, it reads the log. */
  state(): Promise<FoldState>;
  append(drafts: readonly DraftRecord[]): Promise<Batch>;
  /**
   * Starts a run with one turn, which answers a message or handles an event. Only one turn is active at a
   * time. `about` returns drafts, which are written in the same batch as the start of the run.
   */
  beginTurn(
    about?: (runId: RunId) => readonly DraftRecord[],
    trace?: TraceContext,
  ): Promise<JournalTurn>;
  /** Removes a command from the queue. `error` is the reason why the command had no effect. */
  consume(key: string, error?: ErrorInfo): Promise<void>;
  /** Completes pending writes and releases the lease. */
  close(): Promise<void>;
}

/** A turn that has started. */
export interface JournalTurn {
  readonly turn: number;
  readonly attempt: number;
  readonly runId: RunId;
  /** The epoch of the lease under which the turn is written. */
  readonly epoch: number;
  /** The offset before the turn's first record. */
  readonly after: number;
  /** The trace to which the run belongs. */
  readonly trace?: TraceContext | undefined;
  append(drafts: readonly DraftRecord[]): Promise<Batch>;
  /** Ends the turn and its run. All items of the turn must be finished before this call. */
  finish(stop: Stop, error?: { readonly code: string; readonly message: string }): Promise<void>;
}

/** The command that `event/send` queues on the task's log. */
export interface EventCommand {
  readonly type: 'event';
  readonly id: string;
  readonly content: JsonObject | null;
  /** The trace to which the handling of the event belongs. It has the fields of `TraceContext`. */
  readonly trace?: JsonObject;
}
