import type { SessionId } from '@millrace/core';
import {
  encodeComment,
  encodeFrame,
  type Frame,
  sseHeaders,
  uiHeaders,
} from '@millrace/core/streams';
import type { ViewName } from '../../contract/stream.ts';
import type { Task } from '../../contract/task.ts';

// Control frames do not come from the log. They have no id, and clients must accept repeated control frames.

/** Returns the response headers for the stream of a view. */
export function headersOf(view: ViewName, through: number): Readonly<Record<string, string>> {
  switch (view) {
    case 'ui':
      return { ...sseHeaders, ...uiHeaders };
    case 'records':
      // A client that folds records compares this offset with its state. It can delay rendering until it has
      // caught up.
      return { ...sseHeaders, 'millrace-through': `${through}` };
    case 'updates':
    case 'events':
      return sseHeaders;
  }
}

/** Returns the first frame of a stream. Agentex clients wait for it. */
export function openingFrame(view: ViewName, session: SessionId): string {
  return view === 'updates'
    ? encodeFrame({ data: JSON.stringify({ type: 'connected', taskId: session }) })
    : '';
}

/**
 * Returns a frame with the current row of the task. Returns an empty text if the view does not contain task
 * rows.
 */
export function taskUpdatedFrame(view: ViewName, task: Task): string {
  const data = JSON.stringify({ type: 'task_updated', task });
  switch (view) {
    case 'updates':
      return encodeFrame({ data });
    case 'records':
    case 'events':
      return encodeFrame({ event: 'task_updated', data });
    case 'ui':
      return '';
  }
}

/**
 * Returns the last frame of a stream. After this frame, the client does not need to reconnect. `isRunLeft` is
 * true if a run on the log has no end and no process works on it.
 */
export function endFrameText(view: ViewName, reason: string, isRunLeft: boolean): string {
  switch (view) {
    case 'updates':
    case 'ui':
      // Clients of these views treat unknown frames as errors, and they detect the end without a frame. They
      // get a comment instead.
      return encodeComment(`end ${reason}`);
    case 'records':
    case 'events':
      return encodeFrame(endEvent(reason, isRunLeft));
  }
}

function endEvent(reason: string, isRunLeft: boolean): Frame {
  const data = { reason, ...(isRunLeft && { is_run_live: false }) };
  return { event: 'end', data: JSON.stringify(data) };
}
