import type { FoldState } from '@millrace/core';
import type { TaskMessage, Update } from '../contract/message.ts';
import type { Frame, FrameView } from '../contract/stream.ts';
import { restatement, updatesOf } from './updates-of.ts';

/** The log as task-message updates, one a frame. */
export const updatesView: FrameView = {
  name: 'updates',
  frames: (before, record, after) => {
    const updates = updatesOf(before, record, after);
    // The last one of a record is named by it alone: who has that one has all of the record.
    const idOf = (k: number) => (k === updates.length - 1 ? '' : `.${k}`);
    return updates.map(({ update, k }) => ({
      id: `${record.offset}${idOf(k)}`,
      data: lineOf(update),
    }));
  },
  restate: (state) => restatement(state).map((update) => ({ data: lineOf(update) })),
};

// All deltas of a message refer to one row, which is most of what they say.
const rows = new WeakMap<TaskMessage, string>();

function lineOf(update: Update): string {
  const { parent_task_message: row } = update;
  if (update.type !== 'delta' || row === null) return JSON.stringify(update);
  const known = rows.get(row) ?? JSON.stringify(row);
  rows.set(row, known);
  const delta = JSON.stringify(update.delta);
  return `{"type":"delta","index":${update.index},"parent_task_message":${known},"delta":${delta}}`;
}

/** What every stream of updates begins with. */
export function connectedFrame({ session }: Pick<FoldState, 'session'>): Frame {
  return { data: JSON.stringify({ type: 'connected', taskId: session }) };
}
