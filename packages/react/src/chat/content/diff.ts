import type { JsonValue } from '@millrace/core';
import type { Labels } from '../../labels/labels.ts';

export interface DiffLine {
  readonly kind: 'added' | 'removed' | 'same' | 'hunk' | 'file';
  readonly text: string;
  /** The line numbers before and after the change. Undefined if they are unknown. */
  readonly before?: number | undefined;
  readonly after?: number | undefined;
}

const hunkForm = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/**
 * Splits a unified diff into lines, with line numbers if the diff contains them. If `hasFiles` is false, no line
 * is a header with the name of a file.
 */
export function diffLines(diff: string, hasFiles = true): readonly DiffLine[] {
  let before: number | undefined;
  let after: number | undefined;
  let isInHunk = !hasFiles;
  return diff.split('\n').map((text): DiffLine => {
    if (text.startsWith('@@')) {
      const [, from, to] = hunkForm.exec(text) ?? [];
      isInHunk = true;
      before = from === undefined ? undefined : Number(from);
      after = to === undefined ? undefined : Number(to);
      return { kind: 'hunk', text };
    }
    if (!isInHunk && /^(?:---|\+\+\+|diff |index )/.test(text)) return { kind: 'file', text };
    isInHunk = true;
    const line = text.slice(1);
    if (text.startsWith('+')) return { kind: 'added', text: line, after: after && after++ };
    if (text.startsWith('-')) return { kind: 'removed', text: line, before: before && before++ };
    const same = text.startsWith(' ') ? line : text;
    return { kind: 'same', text: same, before: before && before++, after: after && after++ };
  });
}

interface DiffInText {
  /** The text that comes before the diff. */
  readonly textBefore: string;
  readonly diff: string;
}

/** Finds a unified diff in a text. Everything after the start of the diff belongs to the diff. */
export function findDiff(text: string): DiffInText | undefined {
  const form = /^(?:@@ -\d[^\n]* @@|--- [^\n]+\n\+\+\+ |diff --git )/m;
  const at = form.exec(text)?.index;
  if (at === undefined) return undefined;
  return { textBefore: text.slice(0, at).trim(), diff: text.slice(at).replace(/\n$/, '') };
}

interface InputDiff {
  /** The name of the input field that the diff shows. All other fields are shown separately. */
  readonly field: 'content' | 'edits';
  readonly diff: string;
}

type Fields = Readonly<Record<string, JsonValue | undefined>>;

/**
 * Builds a diff from the input of an `edit` or `write` call. If `isExact` is true, different inputs
 * always have different diffs. The diff then also shows final line breaks and a `replace_all` of
 * false.
 */
export function inputDiff(
  name: string,
  input: JsonValue | undefined,
  t: Labels,
  isExact = false,
): InputDiff | undefined {
  const fields = (input ?? {}) as Fields;
  const { content, edits } = { content: fields['content'], edits: fields['edits'] };
  if (name === 'write' && typeof content === 'string')
    return { field: 'content', diff: writeDiff(content, isExact, t) };
  if (name === 'edit' && Array.isArray(edits))
    return { field: 'edits', diff: edits.map((edit) => editDiff(edit, isExact, t)).join('\n') };
  return undefined;
}

function writeDiff(content: string, isExact: boolean, t: Labels): string {
  const added = prefixLines('+', content);
  if (!isExact || added === '' || content.endsWith('\n')) return added;
  return `${added}\n@@ ${t.noLineBreakAtEnd} @@`;
}

/**
 * Returns the diff of one edit. Its first line lists the fields of the edit other than the old and
 * the new text.
 */
function editDiff(edit: JsonValue, isExact: boolean, t: Labels): string {
  if (typeof edit !== 'object' || edit === null || Array.isArray(edit))
    return `@@ ${JSON.stringify(edit)} @@`;
  const { old_text: before, new_text: after, replace_all: all, ...others } = edit as Fields;
  const notes = [
    all === true
      ? t.replacesEvery
      : fieldText('replace_all', all === false && !isExact ? undefined : all),
    ...[['old_text', before] as const, ['new_text', after] as const].map(([key, value]) => {
      if (typeof value !== 'string') return fieldText(key, value);
      return isExact && value.endsWith('\n') ? t.endsWithLineBreak(key) : undefined;
    }),
    ...Object.entries(others).map(([key, value]) => fieldText(key, value)),
  ].filter((words) => words !== undefined);
  const texts = [
    typeof before === 'string' && prefixLines('-', before),
    typeof after === 'string' && prefixLines('+', after),
  ];
  const head = notes.length === 0 ? '@@ @@' : `@@ ${notes.join(', ')} @@`;
  return [head, ...texts.filter(Boolean)].join('\n');
}

function fieldText(key: string, value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
}

/**
 * Adds a prefix to each line. Only a line feed ends a line. A carriage return is an ordinary
 * character.
 */
function prefixLines(mark: '+' | '-', text: string): string {
  if (text === '') return '';
  const lines = text.replace(/\n$/, '').split('\n');
  return lines.map((line) => `${mark}${line}`).join('\n');
}
