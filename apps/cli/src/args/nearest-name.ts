import { editDistance, nearestNames } from '@millrace/core';

/**
 * Returns the name that is most similar to a misspelled name. Returns undefined if no name is
 * similar.
 */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const isNear = (distance: number, other: string) =>
    distance <= Math.max(1, Math.floor(other.length / 3));
  return nearestNames(name, names, { most: 1, isNear })[0];
}

/**
 * Returns the model names that are most similar to `name`, best first. It also finds names that
 * contain `name`.
 */
export function nearestModels(name: string, names: readonly string[], most = 3): readonly string[] {
  // The name is shortened, because the comparison gets slow for long names.
  const wanted = name.slice(0, 100).toLowerCase();
  return nearestNames(wanted, new Set(names), {
    most,
    distance: (_, other) => nameDistance(wanted, other.toLowerCase()),
    isNear: (distance) => distance <= Math.max(2, wanted.length / 3),
  });
}

/**
 * Returns how much a model name differs from `wanted`, as a number of wrong letters. If the name
 * contains `wanted`, this counts as one wrong letter. `wanted` may lack the vendor before the
 * slash, and the version.
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
