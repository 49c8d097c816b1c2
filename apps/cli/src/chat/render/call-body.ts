import type { JsonValue } from '@millrace/core';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { clipLines } from '../../text/cells/clip-text.ts';
import { diffToAnsi } from '../../text/diff/diff-to-ansi.ts';
import type { CardResult, ToolCard } from '../contract/tool-card.ts';
import { count } from './format-amounts.ts';
import { clippedLines, inTone, type Look } from './look.ts';

/** How much of a result is shown; all of it is in the log. */
const maxLines = 6;
const maxDiffLines = 40;

/** These say all there is to say in their title: what they found is for the model. */
const quiet: ReadonlySet<string> = new Set(['read', 'ls', 'glob', 'grep', 'read_output']);

export const margin = '  │ ';

/** What a finished call shows below its title. */
export function callBody(look: Look, card: ToolCard): readonly string[] {
  const { phase, result, name } = card;
  if (result === undefined) return [];
  const isCommand = name === 'bash';
  if (phase !== 'done') return textBody(look, result.text, result, isCommand);
  if (name === 'edit') return diffBody(look, diffIn(result.text));
  if (name === 'write') return diffBody(look, inputDiff(name, card.input) ?? '');
  if (quiet.has(name)) return [];
  return textBody(look, result.text, result, isCommand);
}

/** A few words after the title, where they say enough. */
export function callExtra({ phase, name, result }: ToolCard): string | undefined {
  if (phase !== 'done' || result === undefined) return undefined;
  if (name === 'edit') return changed(result.value);
  if (name !== 'read') return undefined;
  const numbered = result.text.match(/^\s*\d+\t/gm)?.length ?? 0;
  return numbered === 0 || result.length > result.text.length ? undefined : count(numbered, 'line');
}

function changed(value: JsonValue | undefined): string | undefined {
  const { added, removed } = (value ?? {}) as {
    readonly added?: unknown;
    readonly removed?: unknown;
  };
  if (typeof added !== 'number' || typeof removed !== 'number') return undefined;
  return `+${added} −${removed}`;
}

/** The result of an edit is a sentence and then a diff. */
function diffIn(text: string): string {
  const at = text.indexOf('\n@@');
  return at === -1 ? '' : text.slice(at + 1);
}

export function diffBody(look: Look, diff: string, most: number = maxDiffLines): readonly string[] {
  const bar = inTone(look, 'dim', margin);
  const lines = diff === '' ? [] : diffLines({ ...look, width: look.width - margin.length }, diff);
  const more = (hidden: number) => inTone(look, 'dim', `… ${count(hidden, 'more line')}`);
  return clipLines(lines, most, { note: more }).map((line) => bar + line);
}

/** Of a command the end says most; of anything else the begin. */
function textBody(
  look: Look,
  text: string,
  { length }: CardResult,
  isCommand: boolean,
): readonly string[] {
  const lines = text.replace(/\s+$/, '').split('\n');
  if (lines.join('') === '') return [];
  const hidden = Math.max(0, lines.length - maxLines);
  const rest = length > text.length ? [`… ${count(length, 'character')} in all`] : [];
  const above = hidden === 0 ? [] : [`… ${count(hidden, 'line')} above`];
  const below = hidden === 0 || rest.length > 0 ? rest : [`… ${count(hidden, 'more line')}`];
  const all = isCommand
    ? [...(rest.length > 0 ? rest : above), ...lines.slice(-maxLines)]
    : [...lines.slice(0, maxLines), ...below];
  return clippedLines(look, all, margin).map((line) => inTone(look, 'dim', line));
}

/** A unified diff in colours, in lines that fit. Where its first part begins, the numbers of its lines say. */
function diffLines({ width, theme }: Look, diff: string): readonly string[] {
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
