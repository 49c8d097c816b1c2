import type { SessionId } from '@millrace/core';
import type { Frame, ViewName } from '../../contract/stream.ts';
import type { Task } from '../../contract/task.ts';
import { uiHeaders } from '../../ui/ui-view.ts';
import { encodeComment, encodeFrame, sseHeaders } from './sse.ts';

// What a stream says that is not in the log. None of it has an id, and nothing depends on hearing it once.

/** What a stream of a view begins with, besides what all of them do. */
export function headersOf(view: ViewName, through: number): Readonly<Record<string, string>> {
  switch (view) {
    case 'ui':
      return { ...sseHeaders, ...uiHeaders };
    case 'records':
      // Who folds knows by it when it has all that was there, and need not show each step of the way.
      return { ...sseHeaders, 'millrace-through': `${through}` };
    case 'updates':
    case 'events':
      return sseHeaders;
  }
}

/** The first frame: Agentex's clients wait for it. */
export function openingFrame(view: ViewName, session: SessionId): string {
  return view === 'updates'
    ? encodeFrame({ data: JSON.stringify({ type: 'connected', taskId: session }) })
    : '';
}

/** The task's row as it is now; empty where the view has no word for it. */
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

/** The last frame: who reads it need not come back. */
export function endFrameText(view: ViewName, reason: string): string {
  switch (view) {
    case 'updates':
    case 'ui':
      // Their clients take whatever they do not know for a fault, and know by other frames that it is over.
      return encodeComment(`end ${reason}`);
    case 'records':
    case 'events':
      return encodeFrame(endEvent(reason));
  }
}

function endEvent(reason: string): Frame {
  return { event: 'end', data: JSON.stringify({ reason }) };
}
