/** The names that are most like another, best first: for whoever misspelt one, or remembers a part of it. */
export function nearestNames(name: string, names: readonly string[], most = 3): readonly string[] {
  // What is compared costs the product of both lengths.
  const wanted = name.slice(0, 100).toLowerCase();
  return [...new Set(names)]
    .map((other) => ({ other, away: awayFrom(wanted, other.toLowerCase()) }))
    .filter(({ away }) => away <= Math.max(2, wanted.length / 3))
    .sort((a, b) => a.away - b.away)
    .slice(0, most)
    .map(({ other }) => other);
}

/** A part of the name is as good as one wrong letter. What is before the slash and the version are often left out. */
function awayFrom(wanted: string, other: string): number {
  if (other === wanted) return 0;
  if (wanted !== '' && other.includes(wanted)) return 1;
  const model = wanted.slice(wanted.lastIndexOf('/') + 1);
  const short = other.slice(other.lastIndexOf('/') + 1);
  const family = short.replace(/-(?:\d[\d.-]*|latest)$/, '');
  const ways = [distance(model, short), distance(model, family)];
  return Math.min(distance(wanted, other), ...ways.map((away) => away + 1));
}

/** How many letters have to be changed, added or taken away. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
