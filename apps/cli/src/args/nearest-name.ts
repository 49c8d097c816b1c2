/** Returns the name that is most similar to a misspelled one, or undefined if none is similar. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const wanted = name.slice(0, maxLength).toLowerCase();
  const [best] = names
    .map((other) => ({ other, distance: editDistance(wanted, other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= Math.max(1, Math.floor(other.length / 3)))
    .sort((a, b) => a.distance - b.distance);
  return best?.other;
}

// All known names are shorter. The limit bounds the cost, which is the product of both lengths.
const maxLength = 64;

/** Returns the most similar names, best first. It also finds names by a part of them. */
export function nearestNames(name: string, names: readonly string[], most = 3): readonly string[] {
  // Comparing costs the product of both lengths.
  const wanted = name.slice(0, 100).toLowerCase();
  return [...new Set(names)]
    .map((other) => ({ other, distance: nameDistance(wanted, other.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.max(2, wanted.length / 3))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ other }) => other);
}

/**
 * A part of a name counts as one wrong letter. The vendor before the slash and the version may be
 * missing.
 */
function nameDistance(wanted: string, other: string): number {
  if (other === wanted) return 0;
  if (wanted !== '' && other.includes(wanted)) return 1;
  const model = wanted.slice(wanted.lastIndexOf('/') + 1);
  const short = other.slice(other.lastIndexOf('/') + 1);
  const family = short.replace(/-(?:\d[\d.-]*|latest)$/, '');
  const ways = [editDistance(model, short), editDistance(model, family)];
  return Math.min(editDistance(wanted, other), ...ways.map((distance) => distance + 1));
}

/**
 * Returns the number of letters to change, add, remove or swap with their neighbour. The cost is
 * the product of both lengths.
 *
 * The agent package has its own version. Loading that package takes longer than everything else
 * that a mistyped flag needs.
 */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, swap));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
