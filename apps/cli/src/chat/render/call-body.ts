import type { JsonValue } from '@millrace/core';
import { readTodo } from '@millrace/tools';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { clipLines, wrapCells } from '../../text/cells/clip-text.ts';
import { expandTabs, printable, withoutStyles } from '../../text/cells/printable.ts';
import { diffToAnsi } from '../../text/diff/diff-to-ansi.ts';
import { openHead } from '../../text/diff/parse-diff.ts';
import type { CardResult, ToolCard } from '../contract/tool-card.ts';
import { formatCount } from './format-amounts.ts';
import { clipEach, type Look, withTone, wrapText } from './look.ts';
import { taskLines } from './task-lines.ts';

/** Maximum number of lines of a result. The log contains the complete result. */
const maxTextLines = 6;
const maxDiffLines = 40;
const maxDisplayLines = 20;

/** Tools whose calls show only a title. Their results are only for the model. */
const titleOnlyTools: ReadonlySet<string> = new Set(['read', 'ls', 'glob', 'grep', 'read_output']);

/** Returns the margin of the lines below a title. A screen reader would read a drawn line. */
export function marginOf({ isPlain }: Pick<Look, 'isPlain'>): string {
  return isPlain === true ? '  ' : '  │ ';
}

/**
 * Wraps untrusted text that the user must read before an answer. The margin marks each row that continues a line, so
 * a line break in the text looks different from a break at the end of the window. The text cannot imitate this mark,
 * because only this program writes into the margin. A screen reader reads no margin, so each line gets its number.
 */
export function markedLines(look: Look, text: string): readonly string[] {
  const lines = printable(text).split('\n');
  const isNumbered = look.isPlain === true && lines.length > 1;
  const shown = isNumbered
    ? lines.map((line, index) => `line ${index + 1} of ${lines.length}: ${line}`)
    : lines;
  return shown.flatMap((line) => markedLine(look, line, marginOf(look)));
}

/**
 * Wraps one line of untrusted text. The mark in the margin is on all rows after the first one. A row that
 * continues after a space shows this space, because otherwise two arguments could look like one path that is cut. In the
 * plain mode, the screen wraps the line.
 */
export function markedLine(look: Look, line: string, margin: string): readonly string[] {
  const text = expandTabs(printable(line));
  if (look.isPlain === true || cellWidth(margin + text) <= look.width) return [margin + text];
  const mark = `  ${look.theme.symbols.wrapped} `;
  const width = look.width - Math.max(cellWidth(margin), cellWidth(mark));
  const rows = wrapCells(text, Math.max(1, width), { showsSpaces: true });
  return rows.map((row, index) => (index === 0 ? margin : mark) + row);
}

/** Draws the lines below the title of a finished call. */
export function callBody(look: Look, card: ToolCard): readonly string[] {
  const { phase, result, name } = card;
  if (result === undefined) return [];
  const isCommand = name === 'bash';
  const isSentence = phase === 'rejected' || (phase === 'failed' && !isCommand);
  if (phase !== 'done') return textBody(look, result, { isCommand, isSentence });
  if (result.display !== undefined) return displayBody(look, result.display);
  if (name === 'edit') return diffBody(look, diffPart(result.text));
  if (name === 'write') return diffBody(look, inputDiff(name, card.input) ?? '');
  if (titleOnlyTools.has(name)) return [];
  if (name === 'todo') return taskLines(look, readTodo(card.input) ?? [], marginOf(look));
  return textBody(look, result, { isCommand, isSentence });
}

/** Returns a short detail that follows the title. Returns undefined if there is none. */
export function callDetail({ phase, name, result }: ToolCard): string | undefined {
  if (phase !== 'done' || result === undefined) return undefined;
  if (name === 'edit') return editStats(result.value);
  if (name !== 'read') return undefined;
  const numbered = result.text.match(/^ *\d+\t/gm)?.length ?? 0;
  return numbered === 0 || result.length > result.text.length
    ? undefined
    : formatCount(numbered, 'line');
}

function editStats(value: JsonValue | undefined): string | undefined {
  const { added, removed } = (value ?? {}) as {
    readonly added?: unknown;
    readonly removed?: unknown;
  };
  if (typeof added !== 'number' || typeof removed !== 'number') return undefined;
  return `+${added} −${removed}`;
}

/**
 * Returns the diff in the result of an `edit` call. The result is a sentence, followed by the diff.
 */
function diffPart(text: string): string {
  const at = text.indexOf('\n@@');
  return at === -1 ? '' : text.slice(at + 1);
}

export function diffBody(
  look: Look,
  diff: string,
  maxLines: number = maxDiffLines,
): readonly string[] {
  const margin = marginOf(look);
  const bar = withTone(look, 'dim', margin);
  const lines =
    diff === '' ? [] : diffLines({ ...look, width: look.width - cellWidth(margin) }, diff);
  const more = (hidden: number) => withTone(look, 'dim', `… ${formatCount(hidden, 'more line')}`);
  return clipLines(lines, maxLines, { note: more }).map((line) => bar + line);
}

/**
 * Draws the text of a renderer. A note marks it, because a session of another person can contain any text here
 * in place of the result.
 */
function displayBody(look: Look, text: string): readonly string[] {
  const lines = withoutStyles(text).trimEnd().split('\n');
  const note = (hidden: number) => `… ${formatCount(hidden, 'more line')}`;
  const shown = [...clipLines(lines, maxDisplayLines, { note }), '(shown by an extension)'];
  return clipEach(look, shown, marginOf(look)).map((line) => withTone(look, 'dim', line));
}

interface BodyForm {
  readonly isCommand: boolean;
  /** True if the text is for a reader, so that long lines are wrapped and not cut. */
  readonly isSentence: boolean;
}

/** Draws the end of the output of a command, or the start of any other result. */
function textBody(
  look: Look,
  { text, length }: CardResult,
  { isCommand, isSentence }: BodyForm,
): readonly string[] {
  const whole = withoutStyles(text).trimEnd();
  const width = look.width - cellWidth(marginOf(look));
  const lines = isSentence ? wrapText({ ...look, width }, whole) : whole.split('\n');
  if (lines.join('') === '') return [];
  const hidden = Math.max(0, lines.length - maxTextLines);
  const rest = length > text.length ? [`… ${formatCount(length, 'character')} in all`] : [];
  const above = hidden === 0 ? [] : [`… ${formatCount(hidden, 'line')} above`];
  const below = hidden === 0 || rest.length > 0 ? rest : [`… ${formatCount(hidden, 'more line')}`];
  const all = isCommand
    ? [...(rest.length > 0 ? rest : above), ...lines.slice(-maxTextLines)]
    : [...lines.slice(0, maxTextLines), ...below];
  return clipEach(look, all, marginOf(look)).map((line) => withTone(look, 'dim', line));
}

/**
 * Draws a unified diff in colors. The first hunk header is left out, because each line shows its
 * number.
 */
function diffLines({ width, theme }: Look, diff: string): readonly string[] {
  const room = Math.max(1, width);
  const lines = diffToAnsi(diff, { width: room, theme }).split('\n');
  const [first = ''] = diff.split('\n', 1);
  return first.startsWith('@@') ? lines.slice(Math.ceil(cellWidth(first) / room)) : lines;
}

/**
 * Returns the change that an `edit` or `write` call requests. The result is a diff without context
 * lines.
 */
export function inputDiff(name: string, input: JsonValue | undefined): string | undefined {
  const fields = (input ?? {}) as Readonly<Record<string, JsonValue | undefined>>;
  if (name === 'write' && typeof fields['content'] === 'string')
    return `${openHead}\n${prefixLines('+', fields['content'])}`;
  if (name !== 'edit' || !Array.isArray(fields['edits'])) return undefined;
  return fields['edits'].map((edit) => editDiff(edit as EditFields)).join('\n');
}

/**
 * Returns a note for each edit that replaces every occurrence of its text. In `inputDiff`, such an
 * edit looks like a single replacement.
 */
export function replaceAllNotes(name: string, input: JsonValue | undefined): readonly string[] {
  const { edits } = (input ?? {}) as { readonly edits?: JsonValue };
  if (name !== 'edit' || !Array.isArray(edits)) return [];
  return edits.flatMap((edit, index) =>
    (edit as EditFields | null)?.replace_all === true
      ? [`Edit ${index + 1} of ${edits.length} replaces all places with its text`]
      : [],
  );
}

interface EditFields {
  readonly old_text?: unknown;
  readonly new_text?: unknown;
  readonly replace_all?: unknown;
}

function editDiff({ old_text: before, new_text: after }: EditFields): string {
  if (typeof before !== 'string' || typeof after !== 'string') return '';
  return [openHead, prefixLines('-', before), prefixLines('+', after)]
    .filter((part) => part !== '')
    .join('\n');
}

function prefixLines(mark: '+' | '-', text: string): string {
  if (text === '') return '';
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => mark + line)
    .join('\n');
}
