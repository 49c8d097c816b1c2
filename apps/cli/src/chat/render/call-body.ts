import type { JsonValue } from '@millrace/core';
import { clipLines } from '../../text/cells/clip-lines.ts';
import type { CardResult, ToolCard } from '../state/tool-card.ts';
import { count } from './amounts.ts';
import { diffLines, inputDiff } from './diff-lines.ts';
import { clippedLines } from './lines.ts';
import { inTone, type Look } from './look.ts';

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
  if (phase !== 'done') return textBody(look, result.text, result);
  if (name === 'edit') return diffBody(look, diffIn(result.text));
  if (name === 'write') return diffBody(look, inputDiff(name, card.input) ?? '');
  if (quiet.has(name)) return [];
  return textBody(look, result.text, result);
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

export function diffBody(look: Look, diff: string): readonly string[] {
  const bar = inTone(look, 'dim', margin);
  const lines = diff === '' ? [] : diffLines({ ...look, width: look.width - margin.length }, diff);
  const more = (hidden: number) => inTone(look, 'dim', `… ${count(hidden, 'more line')}`);
  return clipLines(lines, maxDiffLines, { note: more }).map((line) => bar + line);
}

function textBody(look: Look, text: string, { length }: CardResult): readonly string[] {
  const lines = text.replace(/\s+$/, '').split('\n');
  const shown = lines.slice(0, maxLines);
  const isCut = lines.length > maxLines || length > text.length;
  const hidden = lines.length - shown.length;
  const rest =
    length > text.length
      ? `… ${count(length, 'character')} in all`
      : `… ${count(hidden, 'more line')}`;
  if (lines.join('') === '') return [];
  const all = isCut ? [...shown, rest] : shown;
  return clippedLines(look, all, margin).map((line) => inTone(look, 'dim', line));
}
