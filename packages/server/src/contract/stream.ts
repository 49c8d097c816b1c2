import type { Batch, FoldState, LogRecord } from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import type { HttpResponse } from './http.ts';

/**
 * Translates the log into frames of one format. A view is pure: the same records give the same
 * frames, wherever a viewer starts.
 */
export interface FrameView {
  readonly name: 'records' | 'events' | 'updates' | 'ui';
  /**
   * The frames of one record. An append, even one that was merged from several, becomes at most one
   * frame.
   */
  frames(before: FoldState, record: LogRecord, after: FoldState): readonly Frame[];
  /**
   * The frames that replace everything before `state`, for a viewer that connects without a cursor.
   */
  restate(state: FoldState): readonly Frame[];
  /**
   * If present, a batch is encoded as a whole instead of record by record. Its end is then the only
   * position to resume at.
   */
  batch?(batch: Batch): readonly Frame[];
  /**
   * True if the view understands snapshots. A viewer without a cursor then receives the records
   * themselves, with finished turns settled, and `restate` is not called.
   */
  readonly settles?: boolean;
}

export type ViewName = FrameView['name'];

interface StreamRequest {
  readonly taskId: string;
  readonly view: ViewName;
  /**
   * The position to continue after, `offset` or `offset.k`. If absent, the current state is
   * restated.
   */
  readonly from?: string | undefined;
  readonly response: HttpResponse;
}

/** Serves `GET /tasks/{task_id}/stream`. */
export interface TaskStreams {
  /** Throws before anything is written, or resolves when the stream is over. */
  serve(request: StreamRequest): Promise<void>;
  /** Ends all streams with a hint to reconnect. */
  close(): Promise<void>;
}
