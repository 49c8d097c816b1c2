/**
 * Returns how well a path matches the typed text. A higher score is better, and undefined means no
 * match. Both arguments must be in lower case.
 *
 * The score is higher if the path contains the whole typed text, and lower if it contains only its
 * letters in order. A match in the file name scores higher than a match in the folders.
 */
export function fuzzyScore(path: string, typed: string): number | undefined {
  const nameStart = path.lastIndexOf('/', path.length - 2) + 1;
  const whole = wholeScore(path, typed, nameStart);
  const score = whole ?? lettersScore(path, typed, nameStart);
  return score === undefined ? undefined : score - path.length / 100;
}

function wholeScore(path: string, typed: string, nameStart: number): number | undefined {
  const inName = path.indexOf(typed, nameStart);
  if (inName === nameStart) {
    const isName = path.length === nameStart + typed.length;
    const isStem = path[nameStart + typed.length] === '.';
    return isName ? 1000 : isStem ? 950 : 900;
  }
  if (inName !== -1) return isWordStart(path, inName) ? 800 : 700;
  const inPath = path.indexOf(typed);
  if (inPath === -1) return undefined;
  return isWordStart(path, inPath) ? 600 : 500;
}

/**
 * Returns the score of a match letter by letter. The comparison starts at the end of the path, so
 * that the file name is tried first.
 */
function lettersScore(path: string, typed: string, nameStart: number): number | undefined {
  let score = 0;
  let at = path.length;
  let last = -1;
  for (let index = typed.length - 1; index >= 0; index--) {
    at = path.lastIndexOf(typed.charAt(index), at - 1);
    if (at === -1 || (at === 0 && index > 0)) return undefined;
    if (at + 1 === last) score += 4;
    if (isWordStart(path, at)) score += 6;
    if (at >= nameStart) score += 2;
    last = at;
  }
  return Math.min(score, 400);
}

function isWordStart(path: string, at: number): boolean {
  return at === 0 || '/._- '.includes(path.charAt(at - 1));
}

/**
 * Returns the `count` items with the highest scores, highest first. Items with equal scores keep
 * their order. This is faster than sorting the whole list.
 */
export function topScored<T>(
  all: readonly T[],
  scoreOf: (one: T) => number | undefined,
  count: number,
): readonly T[] {
  const kept: { readonly one: T; readonly score: number }[] = [];
  for (const one of all) {
    const score = scoreOf(one);
    const last = kept[count - 1];
    if (score === undefined || (last !== undefined && last.score >= score)) continue;
    const position = kept.findIndex((other) => other.score < score);
    kept.splice(position === -1 ? kept.length : position, 0, { one, score });
    kept.length = Math.min(kept.length, count);
  }
  return kept.map(({ one }) => one);
}
