import { explainMiss } from './explain-miss.ts';
import { placesOf } from './places-of.ts';
import { countLines, replaceAt, type TextFile, withoutCrlf } from './text-file.ts';

export interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean | undefined;
}

export type Applied =
  | { readonly ok: true; readonly file: TextFile; readonly replacements: number }
  | { readonly ok: false; readonly problem: string };

/** More places than these are not told apart: nobody reads them. */
const maxLinesNamed = 10;
const maxPlaces = 100_000;
/** Of what comes out, in characters: a text that grows by each of its characters has no end. */
const maxLength = 10_000_000;

/** The edits one after the other, each on what the one before left; or what is wrong with one. */
export function applyEdits(file: TextFile, edits: readonly Edit[]): Applied {
  let replacements = 0;
  let current = file;
  for (const [index, edit] of edits.entries()) {
    const applied = applyEdit(current, edit);
    if (!applied.ok) return { ok: false, problem: locate(applied.problem, index, edits.length) };
    current = applied.file;
    replacements += applied.replacements;
  }
  return { ok: true, file: current, replacements };
}

function locate(problem: string, index: number, count: number): string {
  if (count === 1) return problem;
  const earlier = index === 0 ? '' : ', after the edits before it';
  return `Edit ${index + 1} of ${count}${earlier}: ${problem}`;
}

function applyEdit(file: TextFile, edit: Edit): Applied {
  const [old, replacement] = [withoutCrlf(edit.old_text), withoutCrlf(edit.new_text)];
  if (old === replacement) {
    return { ok: false, problem: 'old_text and new_text are the same: there is nothing to change' };
  }
  const isAll = edit.replace_all === true;
  const starts = isAll ? apart(file.text, old) : firstTwo(file.text, old);
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
  if (starts.length > 1 && !isAll) return severalPlaces(text, old);
  if (starts.length > maxPlaces)
    return `old_text is there more than ${maxPlaces} times. Replace a longer text, or use a program`;
  const length = text.length + starts.length * (replacement.length - old.length);
  if (length > maxLength)
    return `The file would have ${length} characters, and at most ${maxLength} can be written. Use a program`;
  return undefined;
}

/** The places that do not overlap, from the start on: one more than may be, at most. */
function apart(text: string, old: string): readonly number[] {
  const starts: number[] = [];
  let end = 0;
  for (const at of placesOf(text, old)) {
    if (at < end) continue;
    if (starts.push(at) > maxPlaces) break;
    end = at + old.length;
  }
  return starts;
}

/** Here places that overlap count as two: nobody could say which is meant. */
function firstTwo(text: string, old: string): readonly number[] {
  return placesOf(text, old).take(2).toArray();
}

function severalPlaces(text: string, old: string): string {
  const starts = placesOf(text, old)
    .take(maxLinesNamed + 1)
    .toArray();
  const isMore = starts.length > maxLinesNamed;
  const lines = starts.slice(0, maxLinesNamed).map((at) => countLines(text.slice(0, at)) + 1);
  const where = `${isMore ? `more than ${maxLinesNamed}` : starts.length} times, at lines ${lines.join(', ')}`;
  return `old_text is there ${where}${isMore ? ' …' : ''}. Give more of the lines around the one you mean, or set replace_all`;
}
