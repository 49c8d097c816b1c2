import type {
  Batch,
  DraftRecord,
  FoldState,
  JsonObject,
  RunId,
  Stop,
  TraceContext,
} from '@millrace/core';

/**
 * The one writer of a task's session in this process, for agents that are not loops. It takes the lease
 * when it first writes and gives it back when nothing was written for a while.
 */
export interface TaskJournal {
  readonly taskId: string;
  /** As of the last append, or read from the log where there was none. */
  state(): Promise<FoldState>;
  append(drafts: readonly DraftRecord[]): Promise<Batch>;
  /**
   * Begins a run of one turn: an answer to a message, or the handling of an event. One goes on at a time.
   * What it is about is written with its beginning, or neither is.
   */
  beginTurn(
    about?: (runId: RunId) => readonly DraftRecord[],
    trace?: TraceContext,
  ): Promise<JournalTurn>;
  /** Takes a command off the queue. */
  consume(key: string): Promise<void>;
  /** Writes what is written, and gives the lease back. */
  close(): Promise<void>;
}

export interface JournalTurn {
  readonly turn: number;
  readonly attempt: number;
  readonly runId: RunId;
  /** The offset after which the turn's records begin. */
  readonly after: number;
  /** What the run is part of. */
  readonly trace?: TraceContext | undefined;
  append(drafts: readonly DraftRecord[]): Promise<Batch>;
  /** Ends the run. All items of the turn have to be finished by then. */
  finish(stop: Stop, error?: { readonly code: string; readonly message: string }): Promise<void>;
}

/** What `event/send` leaves on the task's log. */
export interface EventCommand {
  readonly type: 'event';
  readonly id: string;
  readonly content: JsonObject | null;
  /** A `TraceContext`: what handling it is part of. */
  readonly trace?: JsonObject;
}
