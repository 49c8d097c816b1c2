import type { JsonValue } from '@millrace/core';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { diffToAnsi } from '../../text/diff/diff-to-ansi.ts';
import type { Look } from './look.ts';

/** A unified diff in colours, in lines that fit. Where its first part begins, the numbers of its lines say. */
export function diffLines({ width, theme }: Look, diff: string): readonly string[] {
  const room = Math.max(1, width);
  const lines = diffToAnsi(diff, { width: room, theme }).split('\n');
  const [first = ''] = diff.split('\n', 1);
  return first.startsWith('@@') ? lines.slice(Math.ceil(cellWidth(first) / room)) : lines;
}

/** What an edit or a write is about to change, as far as its input says: as a diff without its surroundings. */
export function inputDiff(name: string, input: JsonValue | undefined): string | undefined {
  const fields = (input ?? {}) as Readonly<Record<string, JsonValue | undefined>>;
  if (name === 'write' && typeof fields['content'] === 'string')
    return marked('+', fields['content']);
  if (name !== 'edit' || !Array.isArray(fields['edits'])) return undefined;
  return fields['edits'].map((edit) => editDiff(edit as EditFields)).join('\n');
}

interface EditFields {
  readonly old_text?: unknown;
  readonly new_text?: unknown;
}

function editDiff({ old_text: before, new_text: after }: EditFields): string {
  if (typeof before !== 'string' || typeof after !== 'string') return '';
  return ['@@ @@', marked('-', before), marked('+', after)]
    .filter((part) => part !== '')
    .join('\n');
}

function marked(mark: '+' | '-', text: string): string {
  if (text === '') return '';
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => mark + line)
    .join('\n');
}
