/** The `count` with the highest scores, the highest first; of equals those that come first. Without sorting all of them. */
export function best<T>(
  all: readonly T[],
  scoreOf: (one: T) => number | undefined,
  count: number,
): readonly T[] {
  const kept: { readonly one: T; readonly score: number }[] = [];
  for (const one of all) {
    const score = scoreOf(one);
    const last = kept[count - 1];
    if (score === undefined || (last !== undefined && last.score >= score)) continue;
    const place = kept.findIndex((other) => other.score < score);
    kept.splice(place === -1 ? kept.length : place, 0, { one, score });
    kept.length = Math.min(kept.length, count);
  }
  return kept.map(({ one }) => one);
}
