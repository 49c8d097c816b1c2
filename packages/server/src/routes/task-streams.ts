import type { ServerResponse } from 'node:http';
import type { ViewName } from '../stream/frame-view.ts';

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
