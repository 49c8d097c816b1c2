import type { ServerResponse } from 'node:http';
import type { Batch, FoldState, LogRecord } from '@millrace/core';

/** One event of an SSE stream. */
export interface Frame {
  /** `offset`, or `offset.k` for the k-th event of a record. Without one, resuming does not go by it. */
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  /** One line of JSON. */
  readonly data: string;
}

/**
 * The log in the frames of one vocabulary. Pure: the same records give the same frames, wherever a
 * viewer comes in.
 */
export interface FrameView {
  readonly name: 'records' | 'events' | 'updates' | 'ui';
  /** What a record is told as. An append, which may be several in one, is one frame at most. */
  frames(before: FoldState, record: LogRecord, after: FoldState): readonly Frame[];
  /** What somebody who comes in at `state` without a cursor is told instead of all that was before. */
  restate(state: FoldState): readonly Frame[];
  /**
   * Where it is there, what came together is told as a whole, and not record by record: then its end
   * is the only place to resume at.
   */
  batch?(batch: Batch): readonly Frame[];
  /**
   * It understands snapshots: who comes in without a cursor is told the records themselves, finished
   * turns settled, and `restate` is not asked.
   */
  readonly settles?: boolean;
}

export type ViewName = FrameView['name'];

interface StreamRequest {
  readonly taskId: string;
  readonly view: ViewName;
  /** `offset` or `offset.k`, after which to go on; absent: what is there is restated. */
  readonly from?: string | undefined;
  readonly response: ServerResponse;
}

/** What answers `GET /tasks/{task_id}/stream`. */
export interface TaskStreams {
  /** Refuses before it writes anything, or resolves when the stream is over. */
  serve(request: StreamRequest): Promise<void>;
  /** Ends all streams with a hint to come back. */
  close(): Promise<void>;
}
