import { editDistance } from './edit-distance.ts';

/** The name that is most like a misspelt one, if any is like it at all. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const wanted = name.slice(0, maxLength).toLowerCase();
  const [best] = names
    .map((other) => ({ other, away: editDistance(wanted, other.toLowerCase()) }))
    .filter(({ other, away }) => away <= Math.max(1, Math.floor(other.length / 3)))
    .sort((a, b) => a.away - b.away);
  return best?.other;
}

// No name of ours is longer, and what is compared costs the product of both lengths.
const maxLength = 64;
