import {
  agentEvents,
  type Batch,
  encodeBatch,
  encodeEvent,
  type FoldState,
  type LogRecord,
  mergeBatch,
} from '@millrace/core';
import type { Frame, FrameView, ViewName } from '../../contract/stream.ts';
import { uiView } from '../../ui/ui-view.ts';
import { updatesView } from '../../updates/updates-view.ts';

/** What a stream can be asked for, by name. */
export type Views = Readonly<Partial<Record<ViewName, FrameView>>>;

/** The log itself, in batches, for those who fold. */
const recordsView: FrameView = {
  name: 'records',
  settles: true,
  batch: batchFrames,
  frames: (before: FoldState, record: LogRecord): readonly Frame[] =>
    batchFrames({ after: before.through, through: record.offset, records: [record] }),
  restate: () => [],
};

function batchFrames(batch: Batch): readonly Frame[] {
  return [{ id: `${batch.through}`, data: encodeBatch(mergeBatch(batch)) }];
}

/** Agent events. */
const eventsView: FrameView = {
  name: 'events',
  settles: true,
  frames: (before, record, after) =>
    numberFrames(
      record.offset,
      agentEvents(before, record, after).map((event) => ({ data: encodeEvent(event) })),
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
 * Names the frames of one record, so that whoever has one can go on with the next: `offset.k`, and
 * the last one `offset`, because with it all of the record was told.
 */
function numberFrames(offset: number, frames: readonly Frame[]): readonly Frame[] {
  const last = frames.length - 1;
  return frames.map((frame, k) => ({ ...frame, id: k === last ? `${offset}` : `${offset}.${k}` }));
}
