/** Lines from `from` up to `to` of the old text become those from `newFrom` up to `newTo` of the new. */
export interface LineChange {
  readonly from: number;
  readonly to: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/** Beyond so many lines put in or left out, the whole stretch counts as changed. */
const maxDistance = 500;

/** What changed between two lists of lines, in order. */
export function lineChanges(a: readonly string[], b: readonly string[]): readonly LineChange[] {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [oldMiddle, newMiddle] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  return betweenEnds(oldMiddle, newMiddle).map(({ from, to, newFrom, newTo }) => ({
    from: from + head,
    to: to + head,
    newFrom: newFrom + head,
    newTo: newTo + head,
  }));
}

function betweenEnds(a: readonly string[], b: readonly string[]): readonly LineChange[] {
  if (a.length === 0 && b.length === 0) return [];
  const whole = [{ from: 0, to: a.length, newFrom: 0, newTo: b.length }];
  if (a.length === 0 || b.length === 0) return whole;
  const trace = shortestTrace(a, b);
  return trace === undefined ? whole : changesOf(trace, a.length, b.length);
}

/**
 * Myers' greedy search: `furthest[k]` is how far into `a` one gets on diagonal k (x − y) with so many
 * steps. Kept as it was before each step, so that the way can be found back.
 */
function shortestTrace(a: readonly string[], b: readonly string[]): Trace | undefined {
  const most = Math.min(a.length + b.length, maxDistance);
  const middle = most + 1;
  const furthest = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let distance = 0; distance <= most; distance++) {
    trace.push(furthest.slice(middle - distance - 1, middle + distance + 2));
    for (let k = -distance; k <= distance; k += 2) {
      let x = comesFrom(furthest, middle, k, distance).startX;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest[middle + k] = x;
      if (x >= a.length && x - k >= b.length) return trace;
    }
  }
  return undefined;
}

type Trace = readonly Int32Array[];

/** From which diagonal one comes to k, and where on k one arrives. */
function comesFrom(furthest: Int32Array, middle: number, k: number, distance: number) {
  const below = furthest[middle + k - 1] ?? 0;
  const above = furthest[middle + k + 1] ?? 0;
  const isInsertion = k === -distance || (k !== distance && below < above);
  return { isInsertion, startX: isInsertion ? above : below + 1 };
}

/** The way back from the ends of both, joined where steps follow each other. */
function changesOf(trace: Trace, length: number, newLength: number): readonly LineChange[] {
  const changes: LineChange[] = [];
  let [x, y] = [length, newLength];
  for (let distance = trace.length - 1; distance > 0; distance--) {
    const furthest = trace[distance] ?? new Int32Array();
    const { isInsertion, startX } = comesFrom(furthest, distance + 1, x - y, distance);
    const [to, newTo] = [startX, startX - (x - y)];
    const [from, newFrom] = isInsertion ? [to, newTo - 1] : [to - 1, newTo];
    const next = changes.at(-1);
    if (next !== undefined && next.from === to && next.newFrom === newTo) {
      changes[changes.length - 1] = { ...next, from, newFrom };
    } else {
      changes.push({ from, to, newFrom, newTo });
    }
    [x, y] = [from, newFrom];
  }
  return changes.reverse();
}
