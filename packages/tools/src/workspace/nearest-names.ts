const maxNames = 3;
// Longer names are compared by their beginnings: the cost grows with the square.
const maxComparedLength = 64;

/** The names that somebody may have meant, best first. */
export function nearestNames(name: string, names: readonly string[]): readonly string[] {
  return names
    .map((other) => ({ other, distance: distance(name, other) }))
    .filter(({ distance }) => distance <= Math.max(2, name.length / 3))
    .sort((a, b) => a.distance - b.distance || (a.other < b.other ? -1 : 1))
    .slice(0, maxNames)
    .map(({ other }) => other);
}

/** How many characters to put in, leave out or change; letter case counts half, an ending counts one. */
function distance(a: string, b: string): number {
  const [stemA, stemB] = [withoutEnding(a), withoutEnding(b)];
  if (stemA === stemB) return 1;
  if (a.toLowerCase() === b.toLowerCase()) return 0.5;
  return editDistance(
    a.slice(0, maxComparedLength).toLowerCase(),
    b.slice(0, maxComparedLength).toLowerCase(),
  );
}

function withoutEnding(name: string): string {
  return name.replace(/(?<=.)\.[^.]*$/, '');
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const change = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
