import {
  type Block,
  type CodeLine,
  type Container,
  MarkdownStream,
  type OnWork,
  startsItem,
  type Task,
  taskOf,
} from '@millrace/markdown';
import { cellWidth } from '../cells/cell-width.ts';
import { expandTabs, printable, printableLine } from '../cells/printable.ts';
import { type Line, paintLine, type Span, trimLine } from '../cells/span.ts';
import { clipSpans, wrapSpans } from '../cells/wrap-spans.ts';
import { codeRows, LineHighlighter, type LongLines, piecesToLine } from '../code/highlight.ts';
import { plain, type Style } from '../theme/style.ts';
import type { Theme } from '../theme/theme.ts';
import { inlineSpans } from './inline-spans.ts';
import { renderTable } from './render-table.ts';

export interface MarkdownOptions {
  readonly theme: Theme;
  /** Selects how code that is wider than the terminal is shown. Default: `wrap`. */
  readonly longLines?: LongLines;
  readonly onWork?: OnWork;
}

const maxRule = 40;

/** Renders Markdown for a terminal. The text cannot control the terminal. */
export function markdownToAnsi(
  text: string,
  options: MarkdownOptions & { readonly width: number },
): string {
  const stream = new MarkdownStream(options.onWork);
  const renderer = new MarkdownRenderer(options);
  stream.push(text);
  return renderer.render(stream.end(), options.width).join('\n');
}

/**
 * Renders blocks as lines for a terminal. The lines of a code block arrive one by one, so it keeps
 * the state of the highlighter. Blocks contain untrusted text, so the renderer replaces control
 * characters.
 */
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

  /** Renders the next blocks of the document. */
  render(blocks: readonly Block[], width: number): readonly string[] {
    return blocks.flatMap((block) => this.#block(block, width));
  }

  /** Renders unfinished blocks. When they are complete, they are rendered again. */
  preview(blocks: readonly Block[], width: number): readonly string[] {
    const code = this.#code;
    this.#code = code?.copy();
    const lines = this.render(blocks, width);
    this.#code = code;
    return lines;
  }

  #block(block: Block, width: number): readonly string[] {
    const task = taskOf(block);
    const prefix = prefixOf(block.within, this.#theme, width, task);
    const rows = this.#rows(block, Math.max(1, width - prefix.width), task);
    const lines = rows.map((row, index) => paintLine(withPrefix(prefix, row, index)));
    this.#onWork?.(lines.reduce((sum, line) => sum + line.length, 0));
    return block.gap === undefined ? lines : [this.#gap(block, block.gap, width), ...lines];
  }

  #gap({ within }: Block, shared: number, width: number): string {
    const { rest } = prefixOf(within.slice(0, shared), this.#theme, width);
    return paintLine(trimLine(rest));
  }

  #rows(block: Block, width: number, task: Task | undefined): readonly Line[] {
    const { styles, symbols, marks } = this.#theme;
    switch (block.kind) {
      case 'paragraph':
        return this.#wrap(task?.text ?? block.text, plain, width);
      case 'heading': {
        const text = marks ? `${'#'.repeat(block.level)} ${block.text}` : block.text;
        return this.#wrap(text, block.level === 1 ? styles.heading1 : styles.heading, width);
      }
      case 'table':
        return renderTable(block, { width, theme: this.#theme, onWork: this.#onWork });
      case 'html_line':
        return wrapSpans([{ text: visibleLine(block.text), style: styles.html }], width);
      case 'rule':
        return [[{ text: symbols.rule.repeat(Math.min(width, maxRule)), style: styles.muted }]];
      case 'code_open':
        this.#code = new LineHighlighter(block.info, this.#onWork);
        return this.#label(visibleLine(block.info), width, block);
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
    // A code block without a label needs no line for it, unless the block starts a list item. The
    // marker of that item needs the line.
    if (info === '') return startsItem(block) ? [[]] : [];
    const { symbols, styles } = this.#theme;
    const label = { text: `${symbols.label} ${info}`, style: styles.muted };
    return [clipSpans([label], width, { text: symbols.cut, style: styles.muted })];
  }

  #codeLine({ text: source, isCut }: CodeLine, width: number): readonly Line[] {
    const text = visibleLine(source);
    const pieces = this.#code?.line(text) ?? [{ text }];
    const options = { width, theme: this.#theme, longLines: this.#longLines, isCut };
    return codeRows(piecesToLine(pieces, this.#theme), options);
  }
}

function visibleLine(source: string): string {
  return printableLine(expandTabs(source));
}

function withPrefix({ first, rest }: Prefix, row: Line, index: number): Line {
  return trimLine([...(index === 0 ? first : rest), ...row]);
}

/** The marks before the rows of a block. */
interface Prefix {
  readonly first: Line;
  readonly rest: Line;
  readonly width: number;
}

/**
 * Returns the prefix of a block. It takes at most half of the width. If there are too many marks,
 * the marks of the outermost containers are omitted. A checkbox replaces the bullet of the
 * innermost item.
 */
function prefixOf(within: readonly Container[], theme: Theme, width: number, task?: Task): Prefix {
  const box = task && `[${task.isChecked ? 'x' : ' '}]`;
  const markers = within.map((container, depth) =>
    markerOf(
      container,
      within.slice(0, depth),
      theme,
      depth === within.length - 1 ? box : undefined,
    ),
  );
  let used = markers.reduce((sum, { text }) => sum + cellWidth(text), 0);
  while (used * 2 > width) {
    used -= cellWidth(markers.shift()?.text ?? '');
  }
  const shown = within.slice(within.length - markers.length);
  const isShown = (depth: number) => shown[depth]?.kind === 'quote' || opens(shown[depth]);
  const blank = (span: Span): Span => ({ text: ' '.repeat(cellWidth(span.text)), style: plain });
  return {
    first: markers.map((span, depth) => (isShown(depth) ? span : blank(span))),
    rest: markers.map((span, depth) => (shown[depth]?.kind === 'quote' ? span : blank(span))),
    width: used,
  };
}

function opens(container: Container | undefined): boolean {
  return container !== undefined && container.kind !== 'quote' && container.opens;
}

function markerOf(
  container: Container,
  around: readonly Container[],
  { symbols, styles }: Theme,
  box: string | undefined,
): Span {
  if (container.kind === 'quote') return { text: `${symbols.quote} `, style: styles.muted };
  if (container.kind === 'footnote')
    return { text: `${printable(`[^${container.label}]`)}: `, style: styles.marker };
  const depth = around.filter(({ kind }) => kind === 'item').length;
  const bullet = symbols.bullets[Math.min(depth, symbols.bullets.length - 1)];
  const marker = container.number ?? (box === undefined ? bullet : '');
  const parts = [marker, box].filter((part) => part !== undefined && part !== '');
  return { text: `${parts.join(' ')} `, style: styles.marker };
}
