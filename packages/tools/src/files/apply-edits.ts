import { explainMiss } from './explain-miss.ts';
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
  const starts = edit.replace_all === true ? apart(file.text, old) : firstTwo(file.text, old);
  if (starts.length === 0) return { ok: false, problem: explainMiss(file.text, old, replacement) };
  if (starts.length > 1 && edit.replace_all !== true) {
    return { ok: false, problem: severalPlaces(file.text, old) };
  }
  if (starts.length > maxPlaces) {
    const problem = `old_text is there more than ${maxPlaces} times. Replace a longer text, or use a program`;
    return { ok: false, problem };
  }
  return { ok: true, file: replaceAt(file, starts, old, replacement), replacements: starts.length };
}

/** The places that do not overlap, from the start on: one more than may be, at most. */
function apart(text: string, old: string): readonly number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + old.length))
    starts.push(at);
  return starts;
}

/** Here places that overlap count as two: nobody could say which is meant. */
function firstTwo(text: string, old: string): readonly number[] {
  const first = text.indexOf(old);
  const second = first < 0 ? -1 : text.indexOf(old, first + 1);
  return [first, second].filter((at) => at >= 0);
}

function severalPlaces(text: string, old: string): string {
  const starts: number[] = [];
  for (let at = text.indexOf(old); at >= 0 && starts.length <= maxLinesNamed; ) {
    starts.push(at);
    at = text.indexOf(old, at + 1);
  }
  const isMore = starts.length > maxLinesNamed;
  const lines = starts.slice(0, maxLinesNamed).map((at) => countLines(text.slice(0, at)) + 1);
  const where = `${isMore ? `more than ${maxLinesNamed}` : starts.length} times, at lines ${lines.join(', ')}`;
  return `old_text is there ${where}${isMore ? ' …' : ''}. Give more of the lines around the one you mean, or set replace_all`;
}
