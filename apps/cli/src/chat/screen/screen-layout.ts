/** What there is to show besides the prompt. Lines fit already. */
export interface ScreenParts {
  /** Of the terminal. */
  readonly rows: number;
  readonly promptRows: number;
  readonly status: string;
  readonly activity: string | undefined;
  readonly queued: readonly string[];
  /** What is asked, in at most so many lines. */
  readonly ask: ((room: number) => readonly string[]) | undefined;
  /** What is open, in at most so many lines, with the space before it. */
  readonly live: (room: number) => readonly string[];
}

export interface ScreenLayout {
  readonly above: readonly string[];
  readonly below: readonly string[];
}

/** The most that may be drawn: not the first row, and not the last, where the cursor goes after it. */
export function liveRows(rows: number): number {
  return Math.max(1, rows - 2);
}

/** An ask leaves so much of what it is about in sight. */
const linesBesideAsk = 3;

/**
 * Everything in fewer rows than the terminal has, always: a region as high as the terminal could only
 * be drawn again by clearing what was printed, and one that begins in its first row is taken by tmux
 * for a screen that is cleared, and kept in its history. What is least needed goes first.
 */
export function screenLayout(parts: ScreenParts): ScreenLayout {
  const { rows, promptRows, status, activity, queued, ask, live } = parts;
  let room = Math.max(0, liveRows(rows) - promptRows);
  const take = (lines: readonly string[]): readonly string[] => {
    const taken = lines.slice(0, room);
    room -= taken.length;
    return taken;
  };
  const askRoom = room > 2 * linesBesideAsk ? room - linesBesideAsk : room;
  const asked = ask === undefined || room === 0 ? [] : take(ask(askRoom));
  const below = take([status]);
  const doing = take(activity === undefined ? [] : [activity]);
  const waiting = take(queued);
  const isApart = doing.length + waiting.length + asked.length > 0;
  const open = live(isApart ? Math.max(0, room - 1) : room);
  const top = open.length === 0 ? take(['']) : [];
  const gap = open.length > 0 && isApart ? [''] : [];
  const spaced =
    asked.length > 0 && doing.length + waiting.length > 0 && room > open.length + gap.length;
  const between = spaced ? [''] : [];
  return { above: [...top, ...open, ...gap, ...doing, ...waiting, ...between, ...asked], below };
}
