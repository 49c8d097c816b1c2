import { firstOccurrence, nearestLines, occurrencesOf } from './find-text.ts';
import { countLines, replaceAt, type TextFile, withoutCrlf } from './text-file.ts';

/** One replacement in a file. */
export interface Edit {
  /** The text to replace. The file must contain exactly this text. */
  readonly old_text: string;
  /** The text to insert in place of `old_text`. */
  readonly new_text: string;
  /**
   * If true, the edit replaces every occurrence. Otherwise `old_text` must occur exactly once. Default:
   * false.
   */
  readonly replace_all?: boolean | undefined;
}

/** The edited file, or the reason of the first failed edit. */
export type EditOutcome =
  | { readonly ok: true; readonly file: TextFile; readonly replacements: number }
  | { readonly ok: false; readonly problem: string };

/** Maximum number of line numbers in a message about a text that occurs several times. */
const maxLinesNamed = 10;
const maxOccurrences = 100_000;
/**
 * Maximum length of the result in characters. Without it, `replace_all` could make a file grow
 * without limit.
 */
const maxLength = 10_000_000;

/**
 * Applies the edits in order, each to the result of the previous edit. It stops at the first edit that fails
 * and returns the reason.
 */
export function applyEdits(file: TextFile, edits: readonly Edit[]): EditOutcome {
  let replacements = 0;
  let current = file;
  for (const [index, edit] of edits.entries()) {
    const applied = applyEdit(current, edit);
    if (!applied.ok)
      return { ok: false, problem: withEditNumber(applied.problem, index, edits.length) };
    current = applied.file;
    replacements += applied.replacements;
  }
  return { ok: true, file: current, replacements };
}

function withEditNumber(problem: string, index: number, count: number): string {
  if (count === 1) return problem;
  const earlier = index === 0 ? '' : ', after the edits before it';
  return `Edit ${index + 1} of ${count}${earlier}: ${problem}`;
}

function applyEdit(file: TextFile, edit: Edit): EditOutcome {
  const [old, replacement] = [withoutCrlf(edit.old_text), withoutCrlf(edit.new_text)];
  if (old === replacement) {
    return { ok: false, problem: 'old_text and new_text are the same: there is nothing to change' };
  }
  const isAll = edit.replace_all === true;
  const starts = isAll ? nonOverlapping(file.text, old) : firstTwoOccurrences(file.text, old);
  const problem = problemOf(file.text, old, replacement, starts, isAll);
  if (problem !== undefined) return { ok: false, problem };
  return { ok: true, file: replaceAt(file, starts, old, replacement), replacements: starts.length };
}

function problemOf(
  text: string,
  old: string,
  replacement: string,
  starts: readonly number[],
  isAll: boolean,
): string | undefined {
  if (starts.length === 0) return explainMiss(text, old, replacement);
  if (starts.length > 1 && !isAll) return describeOccurrences(text, old);
  if (starts.length > maxOccurrences)
    return `old_text occurs more than ${maxOccurrences} times. Replace a longer text, or use a program`;
  const length = text.length + starts.length * (replacement.length - old.length);
  if (length > maxLength)
    return `The file would have ${length} characters, and at most ${maxLength} can be written. Use a program`;
  return undefined;
}

/**
 * Returns the positions of all occurrences from left to right, without overlaps. The search stops one
 * occurrence after the allowed maximum.
 */
function nonOverlapping(text: string, old: string): readonly number[] {
  const starts: number[] = [];
  let end = 0;
  for (const at of occurrencesOf(text, old)) {
    if (at < end) continue;
    if (starts.push(at) > maxOccurrences) break;
    end = at + old.length;
  }
  return starts;
}

/**
 * Returns the positions of the first two occurrences. Overlapping occurrences count as two, because the
 * intended one is unclear.
 */
function firstTwoOccurrences(text: string, old: string): readonly number[] {
  return occurrencesOf(text, old).take(2).toArray();
}

function describeOccurrences(text: string, old: string): string {
  const starts = occurrencesOf(text, old)
    .take(maxLinesNamed + 1)
    .toArray();
  const isMore = starts.length > maxLinesNamed;
  const lines = starts.slice(0, maxLinesNamed).map((at) => countLines(text.slice(0, at)) + 1);
  const where = `${isMore ? `more than ${maxLinesNamed}` : starts.length} times, at lines ${lines.join(', ')}`;
  return `old_text occurs ${where}${isMore ? ' …' : ''}. Include more of the surrounding lines, or set replace_all`;
}

const maxLineShown = 200;
const maxDifferences = 3;
/** Maximum length of a text to compare with the file, in characters. Longer texts would take too long. */
const maxCompared = 100_000;

/**
 * Returns a text that tells the model why a text was not found. It shows the most similar lines of the file.
 */
function explainMiss(text: string, old: string, replacement: string): string {
  const found = 'old_text is not in the file';
  if (text === '') return `${found}: the file is empty`;
  const unnumbered = old.replace(/^[ ]*\d+\t/gm, '');
  if (unnumbered !== old && firstOccurrence(text, unnumbered) >= 0) {
    return `${found}, but the same text without line numbers is. Leave out the line numbers that read shows`;
  }
  const done = replacement.trim() === '' ? -1 : firstOccurrence(text, replacement);
  const already =
    done < 0 ? '' : ` new_text is already there, at line ${countLines(text.slice(0, done)) + 1}.`;
  if (old.length > maxCompared)
    return `${found}.${already} Give fewer lines, and read the file again`;
  const lines = old.split('\n');
  const fileLines = text.split('\n');
  const near = nearestLines(fileLines, lines);
  if (near === undefined) return `${found}, and nothing similar is.${already} Read the file again`;
  const last = Math.min(near + lines.length, fileLines.length);
  const range = last === near + 1 ? `line ${last}` : `lines ${near + 1} to ${last}`;
  return `${found}.${already} The most similar text is at ${range}:\n${differences(fileLines, lines, near)}`;
}

function differences(fileLines: readonly string[], lines: readonly string[], near: number): string {
  const described = lines.flatMap((line, index) => {
    const there = fileLines[near + index];
    const number = near + index + 1;
    if (there === undefined) return [`line ${number}: the file ends before it`];
    if (there === line || isPartOfLine(there, line, index, lines.length)) return [];
    const how = howDifferent(there, line);
    return [
      `line ${number} differs${how}:\n  file:     ${quoted(there)}\n  old_text: ${quoted(line)}`,
    ];
  });
  const rest = described.length - maxDifferences;
  const more = rest > 0 ? [`and ${rest} more lines differ`] : [];
  return [...described.slice(0, maxDifferences), ...more].join('\n');
}

/**
 * True if the line matches a part of the line in the file. The first line may start in the middle of a file
 * line, and the last line may end in the middle of one.
 */
function isPartOfLine(there: string, line: string, index: number, count: number): boolean {
  if (count === 1) return there.includes(line);
  return (index === 0 && there.endsWith(line)) || (index === count - 1 && there.startsWith(line));
}

function howDifferent(there: string, line: string): string {
  if (there.trim() !== line.trim()) {
    return there.replace(/\s+/g, '') === line.replace(/\s+/g, '') ? ' in its spaces' : '';
  }
  if (there.trimStart() === line.trimStart()) return ' in its indentation';
  if (there.trimEnd() === line.trimEnd()) return ' in the spaces at its end';
  return ' in its indentation and the spaces at its end';
}

/** Returns the line in JSON quotes, so that spaces and tabs are visible. */
function quoted(line: string): string {
  return JSON.stringify(line.length > maxLineShown ? `${line.slice(0, maxLineShown)}…` : line);
}
