/** Options of `nearestNames`. */
export interface NearestNamesOptions {
  /** Maximum number of names to return. Default: 3. */
  readonly most?: number | undefined;
  /**
   * Returns how different a candidate is from the name: 0 for the same name, larger for less
   * similar names. Default: the edit distance of the first 64 characters, without regard to letter
   * case.
   */
  readonly distance?: ((name: string, candidate: string) => number) | undefined;
  /**
   * Returns whether a candidate at this distance is similar enough to be suggested. Default: at
   * most 2 edits, or at most half the length of the candidate.
   */
  readonly isNear?: ((distance: number, candidate: string) => boolean) | undefined;
}

/**
 * Finds the candidates that a user or a model probably meant by a misspelt name, best match first.
 * Candidates at the same distance keep their order.
 *
 * @example
 * nearestNames('raed', ['write', 'read', 'edit']); // ['read']
 */
export function nearestNames(
  name: string,
  candidates: Iterable<string>,
  { most = 3, distance = distanceIgnoringCase, isNear = isWithinHalf }: NearestNamesOptions = {},
): readonly string[] {
  return Array.from(candidates, (candidate) => ({ candidate, away: distance(name, candidate) }))
    .filter(({ candidate, away }) => isNear(away, candidate))
    .sort((a, b) => a.away - b.away)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

/**
 * Returns the smallest number of edits that turn `a` into `b`. An edit inserts, removes or replaces one
 * UTF-16 unit, or swaps two neighbouring units. The time is proportional to the product of both lengths, so
 * callers should limit the length of untrusted text.
 *
 * @example editDistance('scr', 'src'); // 1
 */
export function editDistance(a: string, b: string): number {
  // The rows of the distance table for the two previous prefixes of `a`. Column j is the distance to the
  // first j units of `b`.
  let rowBefore: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? (rowBefore[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, swap));
    }
    rowBefore = row;
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The number of characters to compare. Models send names, and a name of a model can have any length. */
const maxComparedLength = 64;

function distanceIgnoringCase(name: string, candidate: string): number {
  const comparable = (text: string) => text.slice(0, maxComparedLength).toLowerCase();
  return editDistance(comparable(name), comparable(candidate));
}

function isWithinHalf(distance: number, candidate: string): boolean {
  return distance <= Math.max(2, candidate.length / 2);
}
