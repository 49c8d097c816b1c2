/** The content of the live region without the prompt. No line is longer than the width. */
export interface ScreenParts {
  /** Height of the terminal. */
  readonly rows: number;
  readonly promptRows: number;
  readonly status: readonly string[];
  readonly activity: string | undefined;
  readonly queued: readonly string[];
  /** Draws the dialog in at most `room` lines. */
  readonly dialog: ((room: number) => readonly string[]) | undefined;
  /** Draws the unfinished content in at most `room` lines, including the gap before it. */
  readonly live: (room: number) => readonly string[];
}

export interface ScreenLayout {
  readonly above: readonly string[];
  readonly below: readonly string[];
}

/**
 * Returns the maximum height of the live region. The first row stays empty, and the last row is for
 * the cursor.
 */
export function maxLiveRows(rows: number): number {
  return Math.max(1, rows - 2);
}

/** Minimum number of content lines that stay visible above a dialog. */
const linesAboveDialog = 3;

/**
 * Arranges the live region in fewer rows than the terminal has. The least important parts are
 * dropped first.
 *
 * If the region were as high as the terminal, a redraw would have to clear printed content. If the
 * region started in the first row, tmux would treat each redraw as a cleared screen and add it to
 * its history.
 */
export function screenLayout(parts: ScreenParts): ScreenLayout {
  const { rows, promptRows, status, activity, queued, dialog, live } = parts;
  let room = Math.max(0, maxLiveRows(rows) - promptRows);
  const take = (lines: readonly string[]): readonly string[] => {
    const taken = lines.slice(0, room);
    room -= taken.length;
    return taken;
  };
  const dialogRoom = room > 2 * linesAboveDialog ? room - linesAboveDialog : room;
  const dialogLines = dialog === undefined || room === 0 ? [] : take(dialog(dialogRoom));
  const below = take(status);
  const activityLines = take(activity === undefined ? [] : [activity]);
  const queuedLines = take(queued);
  const hasLinesBelow = activityLines.length + queuedLines.length + dialogLines.length > 0;
  const open = live(hasLinesBelow ? Math.max(0, room - 1) : room);
  const top = open.length === 0 ? take(['']) : [];
  const gap = open.length > 0 && hasLinesBelow ? [''] : [];
  const spaced =
    dialogLines.length > 0 &&
    activityLines.length + queuedLines.length > 0 &&
    room > open.length + gap.length;
  const between = spaced ? [''] : [];
  return {
    above: [...top, ...open, ...gap, ...activityLines, ...queuedLines, ...between, ...dialogLines],
    below,
  };
}
