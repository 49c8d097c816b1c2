/** Maximum length of a text for a search with `indexOf`, which is fast for short texts. */
const maxShortLength = 64;

/**
 * Yields all positions of one text in a second text, in order. Occurrences may overlap. The time is linear in
 * both lengths. `indexOf` alone could take hours for millions of almost equal characters.
 */
export function* occurrencesOf(text: string, wanted: string): Generator<number> {
  if (wanted.length <= maxShortLength) yield* shortOccurrences(text, wanted);
  else yield* longOccurrences(text, wanted);
}

/** Returns the position of the first occurrence, or -1. */
export function firstOccurrence(text: string, wanted: string): number {
  for (const place of occurrencesOf(text, wanted)) return place;
  return -1;
}

function* shortOccurrences(text: string, wanted: string): Generator<number> {
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    yield at;
    if (wanted === '') return;
  }
}

/**
 * Yields all positions of a long text. It is a Knuth–Morris–Pratt search, which reads each character once.
 */
function* longOccurrences(text: string, wanted: string): Generator<number> {
  if (wanted.length > text.length) return;
  const borders = prefixTable(wanted);
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === code) matched++;
    if (matched < wanted.length) continue;
    yield at + 1 - wanted.length;
    matched = borders[matched - 1] ?? 0;
  }
}

/**
 * Returns for each prefix of a text the length of its longest border. A border is a proper prefix that is
 * also a suffix.
 */
function prefixTable(wanted: string): Int32Array {
  const borders = new Int32Array(wanted.length);
  let matched = 0;
  for (let at = 1; at < wanted.length; at++) {
    const code = wanted.charCodeAt(at);
    while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === code) matched++;
    borders[at] = matched;
  }
  return borders;
}

/** Maximum number of lines to compare, because a file can have a million lines. */
const maxLinesCompared = 50_000;
const maxCandidates = 20;
const maxWindow = 50;
const maxCharactersCompared = 50_000_000;
/** The minimum similarity of suggested lines, from 0 to 1. */
const minSimilarity = 0.5;

/**
 * Returns the index of the line at which the file is most similar to these lines. Returns undefined if
 * nothing is similar.
 */
export function nearestLines(
  file: readonly string[],
  lines: readonly string[],
): number | undefined {
  return (
    equalIgnoringSpaces(file.map(withoutSpaces), lines.map(withoutSpaces)) ??
    mostSimilar(file, lines)
  );
}

function withoutSpaces(line: string): string {
  return line.replace(/\s+/g, '');
}

/**
 * Returns the index of the first position at which the file contains these lines, ignoring spaces. The first
 * line may match the end of a file line, and the last line the start of one.
 */
function equalIgnoringSpaces(
  file: readonly string[],
  lines: readonly string[],
): number | undefined {
  const [first = '', ...others] = lines;
  const last = others.pop();
  if (lines.every((line) => line === '')) return undefined;
  let remainingCharacters = maxCharactersCompared;
  const isSame = (line: string, other: string | undefined) => {
    remainingCharacters -= line.length + 1;
    return line === other;
  };
  for (let start = 0; start + lines.length <= file.length && remainingCharacters > 0; start++) {
    const here = file[start] ?? '';
    if (last === undefined ? firstOccurrence(here, first) >= 0 : here.endsWith(first)) {
      const areSame = others.every((line, index) => isSame(line, file[start + index + 1]));
      const end = file[start + lines.length - 1] ?? '';
      if (areSame && (last === undefined || end.startsWith(last))) return start;
    }
  }
  return undefined;
}

/**
 * Returns the index of the line at which the file is most similar to these lines. It selects candidates by
 * the longest line, which is the most distinctive one. It then compares the lines around each candidate.
 */
function mostSimilar(file: readonly string[], lines: readonly string[]): number | undefined {
  const longest = Math.max(...lines.slice(0, maxWindow).map((line) => line.trim().length));
  const anchor = lines.findIndex((line) => line.trim().length === longest);
  const toAnchor = similarityTo(lines[anchor] ?? '');
  const toEach = lines.slice(0, maxWindow).map(similarityTo);
  const around = (start: number) =>
    toEach.reduce((sum, likeness, index) => sum + likeness(file[start + index] ?? ''), 0);
  return file
    .slice(0, maxLinesCompared)
    .map((line, index) => ({ start: index - anchor, likeness: toAnchor(line) }))
    .filter(({ start, likeness }) => start >= 0 && likeness >= minSimilarity)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, maxCandidates)
    .map(({ start }) => ({ start, likeness: around(start) }))
    .sort((a, b) => b.likeness - a.likeness)[0]?.start;
}

const maxLength = 200;

/**
 * Returns a function that rates the similarity of two lines from 0 to 1, ignoring spaces at the ends. It
 * computes the Dice coefficient of the pairs of adjacent characters.
 */
function similarityTo(line: string): (other: string) => number {
  const own = line.trim().slice(0, maxLength);
  const pairs = pairsOf(own);
  return (given) => {
    const other = given.trim().slice(0, maxLength);
    if (own === other) return 1;
    const total = own.length + other.length - 2;
    const most = 2 * (Math.min(own.length, other.length) - 1);
    // Lines of very different lengths count as not similar.
    return total <= 0 || most * 2 < total ? 0 : (2 * shared(pairs, other)) / total;
  };
}

function pairsOf(text: string): ReadonlyMap<string, number> {
  const pairs = new Map<string, number>();
  for (let at = 0; at + 1 < text.length; at++) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

function shared(pairs: ReadonlyMap<string, number>, other: string): number {
  const seen = new Map<string, number>();
  let count = 0;
  for (let at = 0; at + 1 < other.length; at++) {
    const pair = other.slice(at, at + 2);
    const times = (seen.get(pair) ?? 0) + 1;
    seen.set(pair, times);
    if (times <= (pairs.get(pair) ?? 0)) count++;
  }
  return count;
}
