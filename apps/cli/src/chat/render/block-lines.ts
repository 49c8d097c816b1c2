import { clipLines } from '../../text/cells/clip-lines.ts';
import { askedInFull } from '../ask/asked-in-full.ts';
import type { Block } from '../state/block.ts';
import { count, duration } from './amounts.ts';
import { finishedCall } from './call-lines.ts';
import { wrapped } from './lines.ts';
import { inRole, inTone, type Look } from './look.ts';
import { rowLines } from './row-lines.ts';

/** Of what a person said; a long paste need not be seen again. */
const maxSaidLines = 20;

/** The lines that a block is printed as; those of an answer depend on what it said before. */
export function blockLines(
  look: Look,
  block: Exclude<Block, { readonly type: 'answer' }>,
): readonly string[] {
  switch (block.type) {
    case 'said':
      return said(look, block.text, block.author);
    case 'typed':
      return wrapped(look, `› ${block.text}`).map((line) => inTone(look, 'dim', line));
    case 'thought':
      return thought(look, block);
    case 'call':
      return finishedCall(look, block.card);
    case 'asked':
      return askedInFull(look, block.ask);
    case 'note':
      return wrapped(look, block.text).map((line) => inTone(look, block.tone, line));
    case 'rows':
      return rowLines(look, block.rows);
  }
}

/** What comes after an empty line. Calls and notes that follow each other stand together. */
export function isApart(before: Block | undefined, block: Block): boolean {
  if (before === undefined) return true;
  // The passages of one answer know themselves what stands between them.
  if (before.type === 'answer' && block.type === 'answer') return before.partId !== block.partId;
  return (
    !(isShort(before) && isShort(block)) || (before.type === 'call' && block.type === 'thought')
  );
}

function isShort(block: Block): boolean {
  if (block.type === 'note') return !block.text.includes('\n');
  return block.type === 'call' || block.type === 'thought';
}

function said(look: Look, text: string, author: string | undefined): readonly string[] {
  const name = author === undefined ? '' : `${author}: `;
  const lines = wrapped({ ...look, width: look.width - 2 }, name + text.trim());
  const more = (hidden: number) => inTone(look, 'dim', `… ${count(hidden, 'more line')}`);
  return clipLines(lines, maxSaidLines, { note: more }).map((line, index) => {
    const mark = index === 0 ? inRole(look, 'marker', '› ') : '  ';
    return mark + inRole(look, 'strong', line);
  });
}

function thought(
  look: Look,
  { text, form, tookMs }: Extract<Block, { readonly type: 'thought' }>,
): readonly string[] {
  const time = tookMs < 100 ? '' : ` for ${duration(tookMs)}`;
  const title = form === 'redacted' ? `∴ thought${time}, not shown` : `∴ thought${time}`;
  const head = inTone(look, 'dim', title);
  if (!look.isUnfolded || text.trim() === '') return [head];
  return [head, ...thoughtLines(look, text)];
}

export function thoughtLines(look: Look, text: string): readonly string[] {
  return wrapped(look, text.trim(), '  ').map((line) => inTone(look, 'dim', line));
}
