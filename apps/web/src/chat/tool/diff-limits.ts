import type { ClipLimits } from './clip.ts';

/** How many lines of the head and the tail are shown, and how much of each. */
export interface DiffLimits {
  readonly head: number;
  readonly tail: number;
  readonly line: ClipLimits;
}

const folded: DiffLimits = {
  ...{ head: 8, tail: 4 },
  line: { headLines: 1, headLength: 160, tailLines: 1, tailLength: 120 },
};

/** More at once would make the page stand still; whoever asks again gets ten times as much. */
export function limitsAt(level: number): DiffLimits {
  if (level === 0) return folded;
  const factor = 10 ** (level - 1);
  const length = 10_000 * factor;
  return {
    ...{ head: 1500 * factor, tail: 500 * factor },
    line: { headLines: 1, headLength: length, tailLines: 1, tailLength: length },
  };
}

export interface CutLines<Line> {
  readonly head: readonly Line[];
  readonly tail: readonly Line[];
  /** How many are left out. */
  readonly between: number;
}

/** Both ends of many lines. To leave out a single one would save none. */
export function cutLines<Line>(
  all: readonly Line[],
  { head, tail }: Pick<DiffLimits, 'head' | 'tail'>,
): CutLines<Line> {
  const between = all.length - head - tail;
  if (between <= 1) return { head: all, tail: [], between: 0 };
  return { head: all.slice(0, head), tail: all.slice(-tail), between };
}
