export interface ClipLines {
  /** Which lines are kept; the first ones if it is not said. */
  readonly keep?: 'start' | 'end';
  /** The line that stands for those that are not shown. */
  readonly note?: (hidden: number) => string;
}

/** At most so many lines; what is left out is told in one of them. */
export function clipLines(
  lines: readonly string[],
  max: number,
  { keep = 'start', note = hiddenLines }: ClipLines = {},
): readonly string[] {
  if (lines.length <= max) return lines;
  if (max <= 0) return [];
  const hidden = lines.length - (max - 1);
  if (keep === 'start') return [...lines.slice(0, max - 1), note(hidden)];
  return [note(hidden), ...lines.slice(hidden)];
}

function hiddenLines(hidden: number): string {
  return `… ${hidden} more ${hidden === 1 ? 'line' : 'lines'}`;
}
