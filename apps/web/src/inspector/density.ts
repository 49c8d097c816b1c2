import type { SessionModel } from './session-model.ts';

/** How much happened in each of so many stretches of the axis, from 0 to 1. */
export function densityOf(
  { axis, records }: SessionModel,
  stretches: number,
  isShort: boolean,
): readonly number[] {
  const counts = new Array<number>(stretches).fill(0);
  const length = axis.lengthMs(isShort) || 1;
  for (let index = 0; index < records.length; index++) {
    const at = axis.position(axis.times[index] ?? 0, isShort) / length;
    const place = Math.min(stretches - 1, Math.floor(at * stretches));
    counts[place] = (counts[place] ?? 0) + 1;
  }
  const most = counts.reduce((max, count) => Math.max(max, count), 1);
  // By the root, so that a burst of tokens does not hide the single facts beside it.
  return counts.map((count) => Math.sqrt(count / most));
}
