import type { OutlineSegment, TaskOutline } from '@millrace/client';

/** The part of a log that the inspector reads. */
export interface LogWindow {
  /** The offset after which the window starts. */
  readonly after: number;
  /** The offset at which the window ends. Undefined means the end of the log, which can grow. */
  readonly until: number | undefined;
  /**
   * True if no run was open at the start of the window. The state of the session can then be
   * computed from the records of the window.
   */
  readonly isRunStart: boolean;
}

/** Sessions with at most this many records are read as a whole. */
export const wholeRecords = 5000;

/**
 * If the run of the selected record started more than this many records earlier, the window starts
 * in the middle of the run.
 */
const maxBefore = 10_000;

const wholeWindow: LogWindow = { after: 0, until: undefined, isRunStart: true };

/** Returns the number of records that the outline includes. */
export function countRecords({ segments }: TaskOutline): number {
  return segments.reduce((sum, { records }) => sum + records, 0);
}

/**
 * Returns the window that contains an offset. Undefined means the end of the log. In a long
 * session, the window starts with the run that contains the offset. It ends after the segment that
 * contains the offset. So the page reads a few segments and not the whole log.
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

/** Returns the first segment of the window: the last segment that starts between two runs. */
function startBefore(segments: readonly OutlineSegment[], index: number): OutlineSegment {
  // The window includes the previous segment, so that the user can step back over the edge.
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

/** Returns true if the window contains this offset, or can be extended up to it. */
export function includes({ after, until }: LogWindow, at: number | undefined): boolean {
  if (at === undefined) return until === undefined;
  return (at > after || after === 0) && at <= (until ?? Number.POSITIVE_INFINITY);
}
