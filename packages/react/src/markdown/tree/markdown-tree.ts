import { type Block, MarkdownStream, type OnWork, startsItem, taskOf } from '@millrace/markdown';
import { type CountedNodes, withinLimit } from './block-limit.ts';
import { FootnoteStore } from './footnote-store.ts';
import { GrowingList } from './growing-list.tsx';
import type { DetailsNode, ListItem, MarkdownNode } from './markdown-node.ts';
import { steadyBlocks } from './steady-blocks.ts';

/**
 * To detect whether a text continues the previous one, this many characters before the new text are
 * compared.
 */
const seam = 256;

/**
 * Parses Markdown that grows. Finished blocks are parsed once. Only the open block is parsed again
 * for each new piece of text. The parser limits the length of a block.
 */
export class MarkdownTree {
  readonly #onWork: OnWork | undefined;
  #stream: MarkdownStream;
  #text = '';
  #isWhole = false;
  /** The nodes of all finished blocks. */
  #finished: CountedNodes = noNodes;
  #nodes = noNodes.nodes;
  /** The footnotes of the text so far. */
  readonly footnotes = new FootnoteStore();

  constructor(onWork?: OnWork) {
    this.#onWork = onWork;
    this.#stream = new MarkdownStream(onWork);
  }

  /** Returns the nodes of a text. `isWhole` is false while the text can grow. */
  read(text: string, isWhole: boolean): GrowingList<MarkdownNode> {
    if (text === this.#text && isWhole === this.#isWhole) return this.#nodes;
    if (!this.#isContinuedBy(text, isWhole)) this.#reset();
    this.#stream.push(text.slice(this.#text.length));
    this.#text = text;
    this.#isWhole = isWhole;
    this.#finished = (isWhole ? this.#stream.end() : this.#stream.take()).reduce(
      (counted, block) => this.#withBlock(counted, block),
      this.#finished,
    );
    this.#nodes = isWhole ? this.#finished.nodes : this.#withOpenBlocks();
    return this.#nodes;
  }

  /**
   * Returns true if `text` continues the previous text. While the text grows, only its last
   * characters are compared. A complete comparison reads the whole text, so it happens only once,
   * at the end.
   */
  #isContinuedBy(text: string, isWhole: boolean): boolean {
    if (this.#isWhole || text.length < this.#text.length) return false;
    const from = isWhole ? 0 : Math.max(0, this.#text.length - seam);
    return text.startsWith(this.#text.slice(from), from);
  }

  #reset(): void {
    this.#stream = new MarkdownStream(this.#onWork);
    this.#text = '';
    this.#finished = noNodes;
    this.footnotes.clear();
  }

  #withOpenBlocks(): GrowingList<MarkdownNode> {
    return steadyBlocks(this.#stream.steadyTail, this.#text)
      .filter(({ kind }) => kind !== 'code_close')
      .reduce((counted, block) => this.#withBlock(counted, block), this.#finished).nodes;
  }

  #withBlock(counted: CountedNodes, block: Block): CountedNodes {
    const grown = withinLimit(counted, block, withBlock);
    const { last } = grown.nodes;
    if (last?.kind === 'footnote') this.footnotes.add(last);
    return grown;
  }
}

const noNodes: CountedNodes = { nodes: new GrowingList(), cost: 0 };

/** Adds a block to the nodes of the container at `depth`. */
function withBlock(
  nodes: GrowingList<MarkdownNode>,
  block: Block,
  depth = 0,
): GrowingList<MarkdownNode> {
  return withinDetails(nodes, block, depth) ?? withContainer(nodes, block, depth);
}

function withContainer(
  nodes: GrowingList<MarkdownNode>,
  block: Block,
  depth: number,
): GrowingList<MarkdownNode> {
  const container = block.within[depth];
  const last = nodes.last;
  switch (container?.kind) {
    case undefined:
      return withContent(nodes, block);
    case 'quote': {
      const same = last?.kind === 'quote' && last.id === container.id ? last : undefined;
      const children = withBlock(same?.children ?? new GrowingList(), block, depth + 1);
      const quote: MarkdownNode = { kind: 'quote', id: container.id, children };
      return same ? nodes.replaceLast(quote) : nodes.append(quote);
    }
    case 'footnote': {
      const same = last?.kind === 'footnote' && last.id === container.id ? last : undefined;
      const children = withBlock(same?.children ?? new GrowingList(), block, depth + 1);
      const { id, label } = container;
      const footnote: MarkdownNode = { kind: 'footnote', id, label, children };
      return same ? nodes.replaceLast(footnote) : nodes.append(footnote);
    }
    case 'item': {
      const same = last?.kind === 'list' && last.id === container.list ? last : undefined;
      const items = withItem(same?.items ?? new GrowingList(), block, depth);
      if (same) return nodes.replaceLast({ ...same, items });
      const start =
        container.number === undefined ? undefined : Number.parseInt(container.number, 10);
      return nodes.append({ kind: 'list', id: container.list, start, items });
    }
  }
}

const detailsStart =
  /^\s*<details(\s+open(?:="")?)?\s*>\s*(?:<summary>([\s\S]{0,2000}?)<\/summary>)?\s*$/i;
const detailsEnd = /^\s*<\/details\s*>\s*$/i;

/** Maximum number of nested `<details>` elements. Deeper tags are shown as text. */
const maxDetails = 8;
const maxDetailsLines = 8;
/** Maximum length of an opening tag with its summary. Comparing a longer text would block the page. */
const maxDetailsLength = 4000;

/**
 * Adds a block to an open `<details>` element. The element starts with an HTML block that contains
 * only the opening tag and the summary. Returns undefined if no `<details>` element is open.
 */
function withinDetails(
  nodes: GrowingList<MarkdownNode>,
  block: Block,
  depth: number,
  level = 0,
): GrowingList<MarkdownNode> | undefined {
  const { last } = nodes;
  const isContinued = block.kind === 'html_line' && block.isRest;
  const details =
    last?.kind === 'html' && !isContinued && level < maxDetails ? detailsOf(last.pieces) : last;
  if (details?.kind !== 'details' || details.isClosed) return undefined;
  const inner = withinDetails(details.children, block, depth, level + 1);
  const isHere = block.kind === 'html_line' && depth === block.within.length;
  const isShort = block.kind === 'html_line' && block.text.length <= maxDetailsLength;
  if (inner === undefined && isHere && isShort && detailsEnd.test(block.text))
    return nodes.replaceLast({ ...details, isClosed: true });
  const children = inner ?? withContainer(details.children, block, depth);
  return nodes.replaceLast({ ...details, children });
}

/**
 * Returns the `<details>` element that an HTML block opens. Returns undefined if the block contains
 * anything else.
 */
function detailsOf(pieces: GrowingList<string>): DetailsNode | undefined {
  if (pieces.size > maxDetailsLines) return undefined;
  const text = [...pieces].join('');
  if (text.length > maxDetailsLength) return undefined;
  const [start, open, summary = ''] = detailsStart.exec(text) ?? [];
  if (start === undefined) return undefined;
  const children = new GrowingList<MarkdownNode>();
  return { kind: 'details', summary, isOpen: open !== undefined, isClosed: false, children };
}

function withItem(
  items: GrowingList<ListItem>,
  block: Block,
  depth: number,
): GrowingList<ListItem> {
  const id = block.within[depth]?.id ?? 0;
  const last = items.last;
  if (last?.id === id) {
    return items.replaceLast({ ...last, children: withBlock(last.children, block, depth + 1) });
  }
  const isInnermost = depth === block.within.length - 1;
  return items.append({
    id,
    isChecked: isInnermost ? taskOf(block)?.isChecked : undefined,
    isApart: items.size > 0 && block.gap !== undefined,
    children: withBlock(new GrowingList(), block, depth + 1),
  });
}

function withContent(nodes: GrowingList<MarkdownNode>, block: Block): GrowingList<MarkdownNode> {
  const last = nodes.last;
  switch (block.kind) {
    case 'heading':
      return nodes.append({ kind: 'heading', level: block.level, text: block.text });
    case 'rule':
      return nodes.append({ kind: 'rule' });
    case 'paragraph': {
      const text = taskOf(block)?.text ?? block.text;
      const isItemText = startsItem(block);
      // The parser gives an empty paragraph for an item without content. It is left out.
      if (text === '') return nodes;
      return nodes.append({ kind: 'paragraph', text, isItemText, isRest: block.isRest });
    }
    case 'table': {
      const [head = '', under = '', ...rows] = block.rows;
      if (block.isRest && last?.kind === 'table')
        return nodes.replaceLast({ ...last, parts: last.parts.append(rows) });
      const parts = new GrowingList<readonly string[]>().append(rows);
      return nodes.append({ kind: 'table', head, under, parts });
    }
    case 'html_line':
      if (block.isRest && last?.kind === 'html')
        return nodes.replaceLast({ ...last, pieces: last.pieces.append(`\n${block.text}`) });
      return nodes.append({ kind: 'html', pieces: new GrowingList<string>().append(block.text) });
    case 'code_open':
      return nodes.append({
        kind: 'code',
        info: block.info,
        pieces: new GrowingList(),
        isDone: false,
      });
    case 'code_line': {
      if (last?.kind !== 'code') return nodes;
      const isFirst = last.pieces.size === 0;
      const piece = isFirst || block.isCut ? block.text : `\n${block.text}`;
      return nodes.replaceLast({ ...last, pieces: last.pieces.append(piece) });
    }
    case 'code_close':
      return last?.kind === 'code' ? nodes.replaceLast({ ...last, isDone: true }) : nodes;
  }
}
