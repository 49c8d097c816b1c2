export interface LabelPlace {
  readonly left?: string;
  readonly right?: string;
}

/**
 * Where a bar's label is written, whose ends are in percent: in it if it is the widest place of the row,
 * else beside it, where there is more room. It so never lies across an end of its bar.
 */
export function labelPlace(barLeft: number, barRight: number): LabelPlace {
  const left = Math.min(100, Math.max(0, barLeft));
  const right = Math.min(100, Math.max(0, barRight));
  if (right - left >= Math.max(left, 100 - right)) return { left: `${left}%` };
  return left > 100 - right ? { right: `${100 - left}%` } : { left: `${right}%` };
}
