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

// Frames that are not from the log. They have no id, and clients must accept them repeatedly.

/** The response headers of a view's stream. */
export function headersOf(view: ViewName, through: number): Readonly<Record<string, string>> {
  switch (view) {
    case 'ui':
      return { ...sseHeaders, ...uiHeaders };
    case 'records':
      // With this offset, a client that folds the records detects when it has caught up, and can
      // skip rendering until then.
      return { ...sseHeaders, 'millrace-through': `${through}` };
    case 'updates':
    case 'events':
      return sseHeaders;
  }
}

/** The first frame of a stream. Agentex clients wait for it. */
export function openingFrame(view: ViewName, session: SessionId): string {
  return view === 'updates'
    ? encodeFrame({ data: JSON.stringify({ type: 'connected', taskId: session }) })
    : '';
}

/** The current row of the task. Empty if the view has no such frame. */
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
 * The last frame of a stream. A client that reads it does not need to reconnect. `isRunLeft`: the log
 * has an open run that nobody drives.
 */
export function endFrameText(view: ViewName, reason: string, isRunLeft: boolean): string {
  switch (view) {
    case 'updates':
    case 'ui':
      // Clients of these views treat unknown frames as errors, and detect the end by other frames.
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
