import type { OutlineSegment, TaskOutline } from '@millrace/client';

/** The part of a log that the inspector reads. */
export interface LogWindow {
  /** The offset after which the window starts. */
  readonly after: number;
  /** The offset up to which the window is read. Undefined means to the end, also as the log grows. */
  readonly until: number | undefined;
  /**
   * True if nothing was open before the window. The state of the session can then be computed from
   * the records of the window.
   */
  readonly isRunStart: boolean;
}

/** Sessions with at most this many records are read as a whole. */
export const wholeRecords = 5000;

/** If the run of the selected record started more than this many records ago, the window is cut. */
const maxBefore = 10_000;

const wholeWindow: LogWindow = { after: 0, until: undefined, isRunStart: true };

/** Returns the number of records that the outline includes. */
export function countRecords({ segments }: TaskOutline): number {
  return segments.reduce((sum, { records }) => sum + records, 0);
}

/**
 * Returns the window that shows an offset. Undefined means the end of the log. In a long session,
 * the window starts at the run of the offset and ends after the segment of the offset, so that the
 * page reads a few segments instead of the whole log.
 */
export function windowFor(outline: TaskOutline, at: number | undefined): LogWindow {
  const { segments, through } = outline;
  if (countRecords(outline) <= wholeRecords) return wholeWindow;
  const isLive = at === undefined || at >= through;
  const target = isLive ? through : Math.max(1, at);
  const index = Math.max(
    0,
    segments.findLastIndex(({ after }) => after < target),
  );
  const start = startBefore(segments, index);
  const until = isLive ? undefined : segments[index + 1]?.through;
  return { after: start.after, until, isRunStart: start.is_run_start };
}

/** Returns the segment with which the window starts: the last one that starts between two runs. */
function startBefore(segments: readonly OutlineSegment[], index: number): OutlineSegment {
  // The segment before is included, so that the user can step back over the edge.
  const before = Math.max(0, index - 1);
  let records = 0;
  for (let at = index; at >= 0 && records <= maxBefore; at--) {
    const segment = segments[at];
    if (segment === undefined) break;
    records += segment.records;
    if (segment.is_run_start && at <= before) return segment;
  }
  return segments[before] ?? noSegment;
}

const noSegment = { after: 0, is_run_start: true } as OutlineSegment;

/** Returns true if the window contains the record at this offset, or can be read up to it. */
export function includes({ after, until }: LogWindow, at: number | undefined): boolean {
  if (at === undefined) return until === undefined;
  return (at > after || after === 0) && at <= (until ?? Number.POSITIVE_INFINITY);
}
