import type { Batch, FoldState, LogRecord } from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import type { HttpResponse } from './http.ts';

/**
 * Translates the log into frames of one format. A view is pure. The same records always give the same
 * frames, even if viewers start at different offsets.
 */
export interface FrameView {
  readonly name: 'records' | 'events' | 'updates' | 'ui';
  /**
   * Returns the frames of one record. An append becomes at most one frame, even if it was merged from
   * several appends. The states may lack the items of earlier runs.
   */
  frames(before: FoldState, record: LogRecord, after: FoldState): readonly Frame[];
  /**
   * Returns frames that describe the whole `state`. A viewer that connects without a cursor receives them
   * instead of the earlier records.
   */
  restate(state: FoldState): readonly Frame[];
  /**
   * Encodes a whole batch. If a view has this method, `frames` is not called for single records. A viewer
   * can then resume only at the end of a batch.
   */
  batch?(batch: Batch): readonly Frame[];
  /**
   * True if the view can show snapshot records. A viewer without a cursor then receives the records with
   * finished turns settled, and `restate` is not called.
   */
  readonly settles?: boolean;
}

export type ViewName = FrameView['name'];

interface StreamRequest {
  readonly taskId: string;
  readonly view: ViewName;
  /**
   * The position after which the stream starts: `offset` or `offset.k`. If it is undefined, the stream
   * starts with the current state.
   */
  readonly from?: string | undefined;
  readonly response: HttpResponse;
}

/** Serves `GET /tasks/{task_id}/stream`. */
export interface TaskStreams {
  /** Streams a task. Throws before anything is written, or resolves when the stream has ended. */
  serve(request: StreamRequest): Promise<void>;
  /** Ends all streams. Clients receive a hint to reconnect. */
  close(): Promise<void>;
}
