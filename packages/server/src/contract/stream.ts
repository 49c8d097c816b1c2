import type { Batch, FoldState, LogRecord } from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import type { HttpResponse } from './http.ts';

/**
 * Translates the log into frames of one format. A view has no state of its own: the same records always give
 * frames with the same result, even if viewers start at different offsets.
 */
export interface FrameView {
  readonly name: 'records' | 'events' | 'updates' | 'ui';
  /**
   * Returns the frames of one record. An append record becomes at most one frame, even if the log merged
   * several appends into it. The states may omit items of earlier runs. `next` is the following record if the viewer
   * receives both records together. A view can then omit a frame that the frames of `next` replace.
   */
  frames(
    before: FoldState,
    record: LogRecord,
    after: FoldState,
    next?: LogRecord,
  ): readonly Frame[];
  /**
   * Returns frames that describe the complete `state`. A viewer without a cursor receives them instead of the
   * earlier records.
   */
  restate(state: FoldState): readonly Frame[];
  /**
   * Encodes a complete batch. If a view has this method, `frames` is not called. A viewer can then resume
   * only at the end of a batch.
   */
  batch?(batch: Batch): readonly Frame[];
  /**
   * True if the view can show snapshot records. A viewer without a cursor then receives one snapshot per
   * finished turn instead of its deltas, and `restate` is not called.
   */
  readonly settles?: boolean;
}

export type ViewName = FrameView['name'];

/** Where a stream without a cursor starts. */
export type StreamStart = 'first' | 'recent';

interface StreamRequest {
  readonly taskId: string;
  readonly view: ViewName;
  /**
   * The position after which the stream starts: `offset` or `offset.k`. If it is undefined, the stream
   * starts with the current state.
   */
  readonly from?: string | undefined;
  /**
   * Where the stream starts without `from`. `recent`: at the start of a recent run, if the view sends batches
   * of records. Default: `first`, the first record.
   */
  readonly start?: StreamStart | undefined;
  readonly response: HttpResponse;
  /** Identifies a caller without full access. One such caller gets only a part of a limit. */
  readonly restricted?: string | undefined;
}

/** Serves `GET /tasks/{task_id}/stream`. */
export interface TaskStreams {
  /**
   * Streams a task. It throws only before the first byte is written, and it resolves when the stream has
   * ended.
   */
  serve(request: StreamRequest): Promise<void>;
  /** Ends all streams. Clients receive a hint to reconnect. */
  close(): Promise<void>;
}
