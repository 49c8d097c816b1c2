import {
  agentEvents,
  type Batch,
  encodeBatch,
  encodeEvent,
  type FoldState,
  type LogRecord,
  mergeBatch,
} from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import type { FrameView, ViewName } from '../../contract/stream.ts';
import { uiView } from '../../ui/ui-view.ts';
import { updatesView } from '../../updates/updates-view.ts';
import { shownBatch, shownRecord } from '../hidden-instructions.ts';

/** The available views by name. */
export type Views = Readonly<Partial<Record<ViewName, FrameView>>>;

/** The view with the records of the log in batches, for clients that fold the records themselves. */
const recordsView: FrameView = {
  name: 'records',
  settles: true,
  batch: batchFrames,
  frames: (before: FoldState, record: LogRecord): readonly Frame[] =>
    batchFrames({ after: before.through, through: record.offset, records: [record] }),
  restate: () => [],
};

function batchFrames(batch: Batch): readonly Frame[] {
  return [{ id: `${batch.through}`, data: encodeBatch(mergeBatch(shownBatch(batch))) }];
}

/** The view that contains agent events. */
const eventsView: FrameView = {
  name: 'events',
  settles: true,
  frames: (before, record, after) =>
    numberFrames(
      record.offset,
      agentEvents(before, shownRecord(record), after).map((event) => ({
        data: encodeEvent(event),
      })),
    ),
  restate: () => [],
};

export const views: Views = {
  records: recordsView,
  events: eventsView,
  updates: updatesView,
  ui: uiView,
};

/**
 * Sets the ids of a record's frames. The last frame has the id `offset`, because it completes the record. The
 * earlier frames have the ids `offset.k`.
 */
function numberFrames(offset: number, frames: readonly Frame[]): readonly Frame[] {
  const last = frames.length - 1;
  return frames.map((frame, k) => ({ ...frame, id: k === last ? `${offset}` : `${offset}.${k}` }));
}
