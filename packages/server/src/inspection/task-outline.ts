import { emptyOutline, foldOutline, type Outline, type Segment } from '@millrace/core/spans';
import type { TaskOutline } from '../contract/inspection.ts';
import { foldCacheFor } from './fold-cache.ts';

/** Returns the cached outlines of a log. The size of an outline is limited, even for a very long log. */
export const outlineCacheFor = foldCacheFor({
  empty: emptyOutline,
  fold: (before, records) => foldOutline(before, records),
});

/** Converts an outline to the fields of the response. */
export function outlineReply({
  through,
  segments,
}: Outline): Pick<TaskOutline, 'through' | 'segments'> {
  return { through, segments: segments.map(segmentReply) };
}

function segmentReply(segment: Segment): TaskOutline['segments'][number] {
  const { startTime, endTime, firstTurn, isRunStart, usage, ...counts } = segment;
  return {
    ...counts,
    start_time: startTime,
    end_time: endTime,
    first_turn: firstTurn,
    is_run_start: isRunStart,
    usage: { ...usage, costs: [...usage.costs] },
  };
}
