import { editDistance as distance } from '../args/edit-distance.ts';

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
