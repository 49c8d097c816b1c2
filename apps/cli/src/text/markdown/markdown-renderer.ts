import { type Line, paintLine, trimLine } from '../cells/span.ts';
import { clipSpans, wrapSpans } from '../cells/wrap-spans.ts';
import {
  codeRows,
  LineHighlighter,
  type LongLines,
  type OnWork,
  piecesToLine,
} from '../code/highlight.ts';
import { inlineSpans } from '../inline/inline-spans.ts';
import { plain, type Style } from '../theme/style.ts';
import type { Theme } from '../theme/theme.ts';
import type { Block, CodeLine } from './block.ts';
import { type Prefix, prefixOf } from './container-prefix.ts';
import { renderTable } from './render-table.ts';

export interface MarkdownOptions {
  readonly theme: Theme;
  /** What becomes of code that is wider than the terminal: wrapped, if it is not said. */
  readonly longLines?: LongLines;
  readonly onWork?: OnWork;
}

const maxRule = 40;
const task = /^\[([ xX])\] +(?=\S)/;

/** Blocks as lines for a terminal. It knows how far the code is that is being told line by line. */
export class MarkdownRenderer {
  readonly #theme: Theme;
  readonly #longLines: LongLines;
  readonly #onWork: OnWork | undefined;
  #code: LineHighlighter | undefined;

  constructor({ theme, longLines = 'wrap', onWork }: MarkdownOptions) {
    this.#theme = theme;
    this.#longLines = longLines;
    this.#onWork = onWork;
  }

  /** The next blocks, in order. */
  render(blocks: readonly Block[], width: number): readonly string[] {
    return blocks.flatMap((block) => this.#block(block, width));
  }

  /** Blocks that will come again, longer. */
  preview(blocks: readonly Block[], width: number): readonly string[] {
    const code = this.#code;
    this.#code = code?.copy();
    const lines = this.render(blocks, width);
    this.#code = code;
    return lines;
  }

  #block(block: Block, width: number): readonly string[] {
    const [, tick] = (block.kind === 'paragraph' && isFirst(block) && task.exec(block.text)) || [];
    const box = tick === undefined ? undefined : `[${tick.toLowerCase()}]`;
    const prefix = prefixOf(block.within, this.#theme, width, box);
    const rows = this.#rows(block, Math.max(1, width - prefix.width), box !== undefined);
    const lines = rows.map((row, index) => paintLine(withPrefix(prefix, row, index)));
    this.#onWork?.(lines.reduce((sum, line) => sum + line.length, 0));
    return block.gap === undefined ? lines : [this.#gap(block, block.gap, width), ...lines];
  }

  #gap({ within }: Block, shared: number, width: number): string {
    const { rest } = prefixOf(within.slice(0, shared), this.#theme, width);
    return paintLine(trimLine(rest));
  }

  #rows(block: Block, width: number, isTask: boolean): readonly Line[] {
    const { styles, symbols, marks } = this.#theme;
    switch (block.kind) {
      case 'paragraph':
        return this.#wrap(isTask ? block.text.replace(task, '') : block.text, plain, width);
      case 'heading': {
        const text = marks ? `${'#'.repeat(block.level)} ${block.text}` : block.text;
        return this.#wrap(text, block.level === 1 ? styles.heading1 : styles.heading, width);
      }
      case 'table':
        return renderTable(block, { width, theme: this.#theme, onWork: this.#onWork });
      case 'html_line':
        return wrapSpans([{ text: block.text, style: styles.html }], width);
      case 'rule':
        return [[{ text: symbols.rule.repeat(Math.min(width, maxRule)), style: styles.muted }]];
      case 'code_open':
        this.#code = new LineHighlighter(block.info, this.#onWork);
        return this.#label(block.info, width, block);
      case 'code_line':
        return this.#codeLine(block, width);
      case 'code_close':
        this.#code = undefined;
        return [];
    }
  }

  #wrap(text: string, style: Style, width: number): readonly Line[] {
    this.#onWork?.(text.length);
    return wrapSpans(inlineSpans(text, this.#theme, style, this.#onWork), width);
  }

  #label(info: string, width: number, block: Block): readonly Line[] {
    // Without a label, the marker of an item still needs a line.
    if (info === '') return isFirst(block) ? [[]] : [];
    const { symbols, styles } = this.#theme;
    const label = { text: `${symbols.rule.repeat(2)} ${info}`, style: styles.muted };
    return [clipSpans([label], width, { text: symbols.cut, style: styles.muted })];
  }

  #codeLine({ text, isCut }: CodeLine, width: number): readonly Line[] {
    const pieces = this.#code?.line(text) ?? [{ text }];
    const options = { width, theme: this.#theme, longLines: this.#longLines, isCut };
    return codeRows(piecesToLine(pieces, this.#theme), options);
  }
}

/** Whether the block is the first of the item it stands in. */
function isFirst({ within }: Block): boolean {
  const last = within.at(-1);
  return last?.kind === 'item' && last.opens;
}

function withPrefix({ first, rest }: Prefix, row: Line, index: number): Line {
  return trimLine([...(index === 0 ? first : rest), ...row]);
}
