import type { PartId } from '@millrace/core';
import { widestLine } from '../../text/cells/cell-width.ts';
import { clipLines, fitCells } from '../../text/cells/clip-text.ts';
import { printableLine } from '../../text/cells/printable.ts';
import { MarkdownRenderer } from '../../text/markdown/markdown-renderer.ts';
import type { Block, Row } from '../contract/block.ts';
import type { TextEntry } from '../contract/entry.ts';
import { fullDialogLines } from '../dialog/dialog-content.ts';
import { diffBody } from './call-body.ts';
import { finishedCall } from './call-lines.ts';
import { formatCount, formatDuration } from './format-amounts.ts';
import { clipText, fitLines, type Look, withRole, withTone, wrapText } from './look.ts';

/** Turns blocks into lines. */
export interface BlockPrinter {
  /** Returns the lines of the next blocks. Each block is printed once. */
  print(look: Look, blocks: readonly Block[]): readonly string[];
  /** Renders the part of an answer that is not printed yet. */
  preview(look: Look, entry: TextEntry): readonly string[];
  /** Returns true if an empty line separates a block from the last printed one. */
  needsGap(block: Block): boolean;
}

/** Turns each block into lines once. It keeps the last block and the state of the open answer. */
export class Printer implements BlockPrinter {
  #lastBlock: Block | undefined;
  #answer: { readonly partId: PartId; readonly renderer: MarkdownRenderer } | undefined;

  print(look: Look, blocks: readonly Block[]): readonly string[] {
    return blocks.flatMap((block) => {
      const lines = this.#linesOf(look, block);
      const apart = this.needsGap(block) ? [''] : [];
      this.#lastBlock = block;
      return [...apart, ...(block.type === 'link' ? lines : fitLines(look, lines))];
    });
  }

  preview(look: Look, { partId, ready, stream }: TextEntry): readonly string[] {
    return this.#rendererOf(look, partId, false).preview([...ready, ...stream.tail], look.width);
  }

  needsGap(block: Block): boolean {
    return needsGap(this.#lastBlock, block);
  }

  #linesOf(look: Look, block: Block): readonly string[] {
    if (block.type !== 'answer') return blockLines(look, block);
    return this.#rendererOf(look, block.partId, true).render(block.passages, look.width);
  }

  #rendererOf({ theme }: Look, partId: PartId, isPrinting: boolean): MarkdownRenderer {
    if (this.#answer?.partId === partId) return this.#answer.renderer;
    const renderer = new MarkdownRenderer({ theme });
    if (isPrinting) this.#answer = { partId, renderer };
    return renderer;
  }
}

/** Maximum number of lines of a user message. Long messages are shortened. */
const maxMessageLines = 20;

/**
 * Returns the lines of a block. Answers are excluded, because their lines depend on earlier
 * passages.
 */
export function blockLines(
  look: Look,
  block: Exclude<Block, { readonly type: 'answer' }>,
): readonly string[] {
  switch (block.type) {
    case 'message':
      return messageLines(look, block.text, block.author);
    case 'command':
      return wrapText(look, `› ${block.text}`).map((line) => withTone(look, 'dim', line));
    case 'thought':
      return finishedThoughtLines(look, block);
    case 'call':
      return finishedCall(look, block.card);
    case 'approval':
      return fullDialogLines(look, block.dialog);
    case 'note': {
      const text = look.isPlain === true ? spokenNote(block.text) : block.text;
      return wrapText(look, text).map((line) => withTone(look, block.tone, line));
    }
    case 'link':
      return [printableLine(block.link), ...codeLines(look, block.code)];
    case 'diff':
      return [
        withRole(look, 'strong', clipText(block.title, look.width)),
        ...diffBody(look, block.text, maxDiffLines),
      ];
    case 'rows':
      return rowLines(look, block.rows);
  }
}

/**
 * Returns true if an empty line must separate two blocks. Consecutive calls and notes have no empty
 * line between them.
 */
export function needsGap(before: Block | undefined, block: Block): boolean {
  if (before === undefined) return true;
  // The Markdown renderer itself adds the empty lines between passages of one answer.
  if (before.type === 'answer' && block.type === 'answer') return before.partId !== block.partId;
  return (
    !(isCompact(before) && isCompact(block)) || (before.type === 'call' && block.type === 'thought')
  );
}

function isCompact(block: Block): boolean {
  if (block.type === 'note') return !block.text.includes('\n');
  return block.type === 'call' || block.type === 'thought' || block.type === 'link';
}

/** The words for the signs at the start of notes. Other signs are omitted. */
const spokenSigns: ReadonlyMap<string, string> = new Map([
  ['✗', 'Error: '],
  ['↻', 'Again: '],
  ['⌫', 'Removed: '],
]);

/** Replaces the sign at the start of a note by a word, for a screen reader. */
function spokenNote(text: string): string {
  const [sign = ''] = /^[✗↻⌫■≡→▶…✓] /.exec(text) ?? [];
  return (spokenSigns.get(sign.trim()) ?? '') + text.slice(sign.length);
}

function messageLines(look: Look, text: string, author: string | undefined): readonly string[] {
  const me = look.isPlain === true ? 'You: ' : '';
  const name = author === undefined ? me : `${author}: `;
  const lines = wrapText({ ...look, width: look.width - 2 }, name + text.trim());
  const more = (hidden: number) => withTone(look, 'dim', `… ${formatCount(hidden, 'more line')}`);
  return clipLines(lines, maxMessageLines, { note: more }).map((line, index) => {
    if (look.isPlain === true) return line;
    const mark = index === 0 ? withRole(look, 'marker', '› ') : '  ';
    return mark + withRole(look, 'strong', line);
  });
}

function finishedThoughtLines(
  look: Look,
  { text, form, tookMs }: Extract<Block, { readonly type: 'thought' }>,
): readonly string[] {
  const time = tookMs < 100 ? '' : ` for ${formatDuration(tookMs)}`;
  const sign = look.isPlain === true ? 'Model thought' : '∴ thought';
  const title = form === 'redacted' ? `${sign}${time}, not shown` : `${sign}${time}`;
  const head = withTone(look, 'dim', title);
  if (!look.showsReasoning || text.trim() === '') return [head];
  return [head, ...thoughtLines(look, text)];
}

export function thoughtLines(look: Look, text: string): readonly string[] {
  return wrapText(look, text.trim(), '  ').map((line) => withTone(look, 'dim', line));
}

/** Maximum number of lines of one file in /diff. */
const maxDiffLines = 220;

/**
 * Minimum width of the description column. In a narrower terminal, the description is below the
 * name.
 */
const minTextWidth = 16;

/** Returns the lines of a code to scan if the window is wide enough, because a wrapped code cannot be scanned. */
function codeLines(look: Look, code: readonly string[]): readonly string[] {
  const width = widestLine(code);
  // A screen reader cannot read a code.
  if (width === 0 || look.isPlain === true) return [];
  if (width <= look.width) return ['', ...code, ''];
  const text = `A window of ${width} columns shows a code to scan.`;
  return wrapText(look, text).map((line) => withTone(look, 'dim', line));
}

/** Draws two columns: the names, and their wrapped descriptions. */
function rowLines(look: Look, rows: readonly Row[]): readonly string[] {
  if (look.isPlain === true)
    return rows.map(([name, about]) =>
      clipText([name, about].filter(Boolean).join(': '), look.width),
    );
  const longest = widestLine(rows.map(([name]) => name));
  const isNarrow = look.width - longest - 2 < minTextWidth;
  return rows.flatMap(([name, about]) => {
    if (about === '') return [clipText(name, look.width)];
    if (isNarrow) return [clipText(name, look.width), ...wrapText(look, about, '  ')];
    const margin = ' '.repeat(longest + 2);
    const [first = '', ...rest] = wrapText(look, about, margin);
    return [
      `${fitCells(clipText(name, longest), longest)}  ${first.slice(margin.length)}`,
      ...rest,
    ];
  });
}
