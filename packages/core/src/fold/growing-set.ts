/**
 * An immutable set that grows without a copy of all its values. It is a list of sets whose sizes are falling powers of
 * two, such as 8, 4 and 1. The sizes depend only on the number of values.
 */
export type GrowingSet<T> = readonly ReadonlySet<T>[];

export function has<T>(set: GrowingSet<T>, value: T): boolean {
  return set.some((values) => values.has(value));
}

/** Adds a value that the set does not have. It joins the last sets if they have as many values as the new one. */
export function add<T>(set: GrowingSet<T>, value: T): GrowingSet<T> {
  let last = [value];
  let kept = set.length;
  for (let next = set.at(-1); next?.size === last.length; next = set[kept - 1]) {
    last = [...next, ...last];
    kept -= 1;
  }
  return [...set.slice(0, kept), new Set(last)];
}
