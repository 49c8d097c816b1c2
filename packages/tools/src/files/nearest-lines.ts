import { likenessTo } from './likeness.ts';
import { placeOf } from './places-of.ts';

/** Bounds on the work: files of a million lines are edited too. */
const maxLinesCompared = 50_000;
const maxCandidates = 20;
const maxWindow = 50;
const maxCharactersCompared = 50_000_000;
/** Of 1. Less is no likeness. */
const leastLikeness = 0.5;

/** The index of the line from which on the file is most like these lines, if it is like them at all. */
export function nearestLines(
  file: readonly string[],
  lines: readonly string[],
): number | undefined {
  return sameButForSpaces(file.map(withoutSpaces), lines.map(withoutSpaces)) ?? like(file, lines);
}

function withoutSpaces(line: string): string {
  return line.replace(/\s+/g, '');
}

/** The first may begin, and the last end, in the middle of a line. */
function sameButForSpaces(file: readonly string[], lines: readonly string[]): number | undefined {
  const [first = '', ...others] = lines;
  const last = others.pop();
  if (lines.every((line) => line === '')) return undefined;
  let left = maxCharactersCompared;
  const isSame = (line: string, other: string | undefined) => {
    left -= line.length + 1;
    return line === other;
  };
  for (let start = 0; start + lines.length <= file.length && left > 0; start++) {
    const here = file[start] ?? '';
    if (last === undefined ? placeOf(here, first) >= 0 : here.endsWith(first)) {
      const areSame = others.every((line, index) => isSame(line, file[start + index + 1]));
      const end = file[start + lines.length - 1] ?? '';
      if (areSame && (last === undefined || end.startsWith(last))) return start;
    }
  }
  return undefined;
}

/** The longest line says most: the places of lines like it are looked at, with the lines around them. */
function like(file: readonly string[], lines: readonly string[]): number | undefined {
  const longest = Math.max(...lines.slice(0, maxWindow).map((line) => line.trim().length));
  const anchor = lines.findIndex((line) => line.trim().length === longest);
  const toAnchor = likenessTo(lines[anchor] ?? '');
  const toEach = lines.slice(0, maxWindow).map(likenessTo);
  const around = (start: number) =>
    toEach.reduce((sum, likeness, index) => sum + likeness(file[start + index] ?? ''), 0);
  return file
    .slice(0, maxLinesCompared)
    .map((line, index) => ({ start: index - anchor, likeness: toAnchor(line) }))
    .filter(({ start, likeness }) => start >= 0 && likeness >= leastLikeness)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, maxCandidates)
    .map(({ start }) => ({ start, likeness: around(start) }))
    .sort((a, b) => b.likeness - a.likeness)[0]?.start;
}
