/** The names that are most like another, best first: for whoever misspelt one. */
export function nearestNames(name: string, names: readonly string[], most = 3): readonly string[] {
  const wanted = name.toLowerCase();
  const far = (other: string) => distance(wanted, other.toLowerCase());
  return [...names]
    .map((other) => ({ other, away: far(other) }))
    .filter(({ other, away }) => away <= Math.max(2, other.length / 2))
    .sort((a, b) => a.away - b.away)
    .slice(0, most)
    .map(({ other }) => other);
}

/** How many letters have to be changed, added or taken away. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
