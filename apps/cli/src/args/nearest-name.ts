/** The name that is most like a misspelt one, if any is like it at all. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const wanted = name.slice(0, maxLength).toLowerCase();
  const [best] = names
    .map((other) => ({ other, away: distance(wanted, other.toLowerCase()) }))
    .filter(({ other, away }) => away <= Math.max(1, Math.floor(other.length / 3)))
    .sort((a, b) => a.away - b.away);
  return best?.other;
}

// No name of ours is longer, and what is compared costs the product of both lengths.
const maxLength = 64;

/** How many letters have to be changed, added, taken away or swapped with their neighbour. */
function distance(a: string, b: string): number {
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
