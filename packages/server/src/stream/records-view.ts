import {
  type Batch,
  encodeBatch,
  type FoldState,
  type LogRecord,
  mergeBatch,
} from '@millrace/core';
import type { Frame, FrameView } from '../contract/stream.ts';

/** The log itself, in batches, for those who fold. */
export const recordsView: FrameView = {
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
