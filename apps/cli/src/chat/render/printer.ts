import type { PartId } from '@millrace/core';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { clipLines, fitCells } from '../../text/cells/clip-text.ts';
import { MarkdownRenderer } from '../../text/markdown/markdown-renderer.ts';
import type { Block, Row } from '../contract/block.ts';
import type { TextEntry } from '../contract/entry.ts';
import { askedInFull } from '../dialog/dialog-lines.ts';
import { finishedCall } from './call-lines.ts';
import { count, duration } from './format-amounts.ts';
import { clipped, fitted, inRole, inTone, type Look, wrapped } from './look.ts';

/** Makes lines of blocks, each once. It knows what was printed last, and how far its code is. */
export class Printer {
  #before: Block | undefined;
  #answer: { readonly partId: PartId; readonly renderer: MarkdownRenderer } | undefined;

  print(look: Look, blocks: readonly Block[]): readonly string[] {
    return blocks.flatMap((block) => {
      const lines = this.#linesOf(look, block);
      const apart = this.isApart(block) ? [''] : [];
      this.#before = block;
      return [...apart, ...fitted(look, lines)];
    });
  }

  /** What has come of an answer and is not printed yet, as it looks now. */
  preview(look: Look, { partId, ready, stream }: TextEntry): readonly string[] {
    return this.#rendererOf(look, partId, false).preview([...ready, ...stream.tail], look.width);
  }

  /** Whether an empty line comes between this and what was printed last. */
  isApart(block: Block): boolean {
    return isApart(this.#before, block);
  }

  #linesOf(look: Look, block: Block): readonly string[] {
    if (block.type !== 'answer') return blockLines(look, block);
    return this.#rendererOf(look, block.partId, true).render(block.passages, look.width);
  }

  #rendererOf({ theme }: Look, partId: PartId, isKept: boolean): MarkdownRenderer {
    if (this.#answer?.partId === partId) return this.#answer.renderer;
    const renderer = new MarkdownRenderer({ theme });
    if (isKept) this.#answer = { partId, renderer };
    return renderer;
  }
}

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

/** What there is to say about a name has at least so much room, or goes below it. */
const leastRoom = 16;

/** Names in a column, and beside them what there is to say about each, wrapped in a column of its own. */
function rowLines(look: Look, rows: readonly Row[]): readonly string[] {
  const longest = Math.max(0, ...rows.map(([name]) => cellWidth(name)));
  const isNarrow = look.width - longest - 2 < leastRoom;
  return rows.flatMap(([name, about]) => {
    if (about === '') return [clipped(name, look.width)];
    if (isNarrow) return [clipped(name, look.width), ...wrapped(look, about, '  ')];
    const margin = ' '.repeat(longest + 2);
    const [first = '', ...rest] = wrapped(look, about, margin);
    return [`${fitCells(clipped(name, longest), longest)}  ${first.slice(margin.length)}`, ...rest];
  });
}
