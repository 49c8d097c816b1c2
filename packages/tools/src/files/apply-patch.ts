import { countLines, replaceAt, type TextFile, withoutCrlf } from './text-file.ts';

/** The patched file, or the reason why the patch cannot be applied. */
export type PatchOutcome =
  | { readonly ok: true; readonly file: TextFile }
  | { readonly ok: false; readonly problem: string };

/** One section of a patch: the anchors that locate it, and the lines before and after the change. */
interface Section {
  /** Lines that come before the section in the file, such as the first line of a function. */
  readonly anchors: readonly string[];
  readonly lines: readonly PatchLine[];
  /** True if the section is at the end of the file. */
  readonly isAtEnd: boolean;
}

interface PatchLine {
  readonly type: 'same' | 'added' | 'removed';
  readonly text: string;
}

const maxSections = 1000;
const maxPatchLines = 200_000;
/**
 * Maximum number of lines to read in total, because patching blocks the event loop. Each section and each
 * anchor may read all lines of the file.
 */
const maxLinesRead = 10_000_000;

/**
 * Applies a patch in the V4A format. A section starts with `@@` and an optional line that precedes it in
 * the file. Its lines start with a space, `-` or `+`. There are no line numbers.
 *
 * The sections are searched in order. The first search is exact. The second ignores spaces at the ends of
 * lines, and the third ignores indentation. If one section is not found, nothing is changed.
 */
export function applyPatch(file: TextFile, diff: string): PatchOutcome {
  const sections = sectionsOf(diff);
  if (typeof sections === 'string') return { ok: false, problem: sections };
  const searches = sections.reduce((sum, { anchors }) => sum + 1 + anchors.length, 0);
  const fileLines = countLines(file.text) + 1;
  if (searches > 1 && searches * fileLines > maxLinesRead) {
    const problem = `${searches} sections and lines after @@ are too much work in a file of ${fileLines} lines. Use smaller patches`;
    return { ok: false, problem };
  }
  let current = file;
  let from = 0;
  for (const [index, section] of sections.entries()) {
    const lines = current.text.split('\n');
    const at = placeOf(lines, section, from);
    if (typeof at === 'string') {
      const which = sections.length === 1 ? '' : `Section ${index + 1} of ${sections.length}: `;
      return { ok: false, problem: `${which}${at}` };
    }
    const replaced = replaceLines(current, lines, at, section);
    current = replaced.file;
    from = replaced.end;
  }
  return { ok: true, file: current };
}

/**
 * Returns the content of a file that a patch creates. Returns undefined if a line does not start with `+`.
 */
export function createdText(diff: string): string | undefined {
  const lines = patchLines(diff);
  if (lines.some((line) => !line.startsWith('+'))) return undefined;
  return lines.map((line) => `${line.slice(1)}\n`).join('');
}

/** Returns the lines of the patch. Models sometimes write a frame around the sections, which is removed. */
function patchLines(diff: string): readonly string[] {
  const lines = withoutCrlf(diff).replace(/\n$/, '').split('\n');
  return lines.filter(
    (line) => !/^\*\*\* (?:(?:Begin|End) Patch|(?:Add|Update) File: )/.test(line),
  );
}

function sectionsOf(diff: string): readonly Section[] | string {
  const sections: { anchors: string[]; lines: PatchLine[]; isAtEnd: boolean }[] = [];
  const open = () => {
    const section = { anchors: [], lines: [], isAtEnd: false };
    sections.push(section);
    return section;
  };
  const all = patchLines(diff);
  if (all.length > maxPatchLines) return `The patch has more than ${maxPatchLines} lines`;
  for (const [index, line] of all.entries()) {
    const last = sections.at(-1);
    if (line.startsWith('@@')) {
      // Several `@@` lines in a row belong to one section.
      const section = last === undefined || last.lines.length > 0 ? open() : last;
      const anchor = line.slice(2).replace(/@@$/, '').trim();
      if (anchor !== '' && !/^-\d+(?:,\d+)? \+\d+(?:,\d+)?$/.test(anchor)) {
        section.anchors.push(anchor);
      }
    } else if (line === '*** End of File') (last ?? open()).isAtEnd = true;
    else {
      const parsed = patchLine(line);
      if (parsed === undefined)
        return `Line ${index + 1} of the patch starts with none of space, -, + and @@`;
      (last === undefined || last.isAtEnd ? open() : last).lines.push(parsed);
    }
    if (sections.length > maxSections) return `The patch has more than ${maxSections} sections`;
  }
  const full = sections.filter(({ lines }) => lines.length > 0);
  return full.length === 0 ? 'The patch is empty' : full;
}

function patchLine(line: string): PatchLine | undefined {
  const text = line.slice(1);
  switch (line.charAt(0)) {
    case ' ':
      return { type: 'same', text };
    // Models often omit the space at the start of an empty line.
    case '':
      return { type: 'same', text: '' };
    case '+':
      return { type: 'added', text };
    case '-':
      return { type: 'removed', text };
    default:
      return undefined;
  }
}

const comparisons: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
];

/**
 * Returns the index of the section's first line in the file, or the reason why the section was not found.
 */
function placeOf(lines: readonly string[], section: Section, from: number): number | string {
  let start = from;
  for (const anchor of section.anchors) {
    const at = indexOfLines(lines, [anchor], start);
    if (at < 0)
      return `The line ${JSON.stringify(anchor.slice(0, 200))} is not in the rest of the file`;
    start = at + 1;
  }
  const before = section.lines.filter(({ type }) => type !== 'added').map(({ text }) => text);
  // If the text ends with a line break, the last element is empty and not a line of the file.
  const end = lines.at(-1) === '' ? lines.length - 1 : lines.length;
  if (before.length === 0) return section.isAtEnd ? end : Math.min(start, end);
  const first = section.isAtEnd ? Math.max(start, end - before.length) : start;
  const at = indexOfLines(lines, before, first);
  if (at >= 0) return at;
  const shown = JSON.stringify(before.join('\n').slice(0, 500));
  return `These lines are not in the ${from === 0 ? '' : 'rest of the '}file: ${shown}. Read it again`;
}

function indexOfLines(lines: readonly string[], wanted: readonly string[], from: number): number {
  for (const simplified of comparisons) {
    const at = firstMatch(lines, wanted.map(simplified), from, simplified);
    if (at >= 0) return at;
  }
  return -1;
}

/**
 * Returns the index of the first match, or -1. It is a Knuth–Morris–Pratt search: its time is linear even if
 * almost all lines are equal.
 */
function firstMatch(
  lines: readonly string[],
  wanted: readonly string[],
  from: number,
  simplified: (line: string) => string,
): number {
  const borders = bordersOf(wanted);
  let matched = 0;
  for (let at = from; at < lines.length; at++) {
    matched = extended(wanted, borders, matched, simplified(lines[at] ?? ''));
    if (matched === wanted.length) return at + 1 - matched;
  }
  return -1;
}

/**
 * Returns for each prefix of the list the length of its longest border. A border is a proper prefix that is
 * also a suffix.
 */
function bordersOf(wanted: readonly string[]): Int32Array {
  const borders = new Int32Array(wanted.length);
  for (let at = 1; at < wanted.length; at++)
    borders[at] = extended(wanted, borders, borders[at - 1] ?? 0, wanted[at] ?? '');
  return borders;
}

/** Returns the number of wanted lines that match after one more line of the file was read. */
function extended(
  wanted: readonly string[],
  borders: Int32Array,
  matched: number,
  line: string,
): number {
  let length = matched;
  while (length > 0 && wanted[length] !== line) length = borders[length - 1] ?? 0;
  return wanted[length] === line ? length + 1 : length;
}

/**
 * Replaces the lines of a section. It takes unchanged lines from the file, because the patch may have
 * different spaces.
 */
function replaceLines(
  file: TextFile,
  lines: readonly string[],
  at: number,
  { lines: changes }: Section,
): { readonly file: TextFile; readonly end: number } {
  const after: string[] = [];
  let read = at;
  for (const { type, text } of changes) {
    if (type === 'added') after.push(text);
    else if (type === 'same') after.push(lines[read++] ?? '');
    else read++;
  }
  const start = lines.slice(0, at).reduce((sum, line) => sum + line.length + 1, 0);
  const old = lines.slice(at, read);
  const isLast = read >= lines.length;
  // Each line is replaced together with its line break, because removed lines must leave no empty line. The
  // last line of a file may have no line break.
  const [from, before, now] = isLast
    ? endOfFile(start, old, after, at)
    : [start, withBreaks(old), withBreaks(after)];
  return { file: replaceAt(file, [from], before, now), end: at + after.length };
}

function withBreaks(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** Returns the replacement for the last line of a file that does not end with a line break. */
function endOfFile(
  start: number,
  old: readonly string[],
  after: readonly string[],
  at: number,
): readonly [number, string, string] {
  // If all last lines are removed, the line break before them is removed too.
  if (after.length === 0 && at > 0) return [start - 1, `\n${old.join('\n')}`, ''];
  if (old.length === 0 && at > 0) return [start - 1, '', `\n${after.join('\n')}`];
  return [start, old.join('\n'), after.join('\n')];
}
