import { expandTabs } from '../cells/printable.ts';
import type { OnWork } from '../code/highlight.ts';
import type { Block, BlockContent } from './block.ts';
import {
  codeIndent,
  fenceStart,
  headingStart,
  type ItemStart,
  indentOf,
  isBlank,
  isFenceEnd,
  isRule,
  itemStart,
  mayStart,
  quoteStart,
  underlineLevel,
} from './block-start.ts';
import { ContainerStack } from './container-stack.ts';
import { htmlStart } from './html-start.ts';
import { contentOf, copyLeaf, grow, isText, type Leaf, paragraphLeaf } from './leaf.ts';
import type { SourceLine } from './line-reader.ts';

/** Deeper than this, marks of quotes and items are text. */
const maxDepth = 12;

/** Lines in, finished blocks out. Of each line it looks at that line alone. */
export class BlockParser {
  readonly #onWork: OnWork | undefined;
  #containers = new ContainerStack();
  #leaf: Leaf | undefined;
  #blocks: Block[] = [];
  /** Since the last block. */
  #sawBlank = false;
  /** The containers of the last block, undefined before the first. */
  #last: readonly number[] | undefined;

  constructor(onWork?: OnWork) {
    this.#onWork = onWork;
  }

  /** A second one that goes on from here; the blocks stay with the first. */
  copy(): BlockParser {
    const copy = new BlockParser(this.#onWork);
    copy.#containers = this.#containers.copy();
    copy.#leaf = this.#leaf && copyLeaf(this.#leaf);
    copy.#sawBlank = this.#sawBlank;
    copy.#last = this.#last;
    return copy;
  }

  take(): readonly Block[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  line({ text, isRest }: SourceLine): void {
    const line = expandTabs(text);
    this.#onWork?.(line.length + 1);
    if (isRest) return this.#goOn(line);
    this.#onWork?.(line.length * this.#containers.depth);
    const { depth, rest } = this.#containers.match(line);
    const isInside = depth === this.#containers.depth;
    if (isInside && this.#leaf?.kind === 'fence') return this.#fenceLine(rest, this.#leaf);
    if (isInside && this.#leaf?.kind === 'html') return this.#htmlLine(rest, this.#leaf);
    if (isBlank(rest)) return this.#blankLine(rest, depth);
    if (!isInside && this.#isLazy(rest)) return this.#text(rest);
    this.#closeTo(depth);
    this.#start(rest);
  }

  /** Nothing more comes. */
  end(): void {
    this.#closeLeaf();
    this.#closeTo(0);
  }

  /** The rest of a line that was too long to be read at once. */
  #goOn(text: string): void {
    const kind = this.#leaf?.kind;
    if (kind === 'fence' || kind === 'indented') {
      return this.#emit({ kind: 'code_line', text, isCut: true });
    }
    if (kind === 'html') return this.#emit({ kind: 'html_line', text, isRest: true });
    this.#closeLeaf();
    this.#leaf = paragraphLeaf(text, true);
  }

  #fenceLine(text: string, { fence }: Leaf & { kind: 'fence' }): void {
    if (isFenceEnd(text, fence)) return this.#closeLeaf();
    const own = Math.min(fence.indent, indentOf(text));
    this.#emit({ kind: 'code_line', text: text.slice(own), isCut: false });
  }

  #htmlLine(text: string, { end }: Leaf & { kind: 'html' }, isRest = true): void {
    if (end === undefined && isBlank(text)) return this.#blankLine(text, this.#containers.depth);
    this.#emit({ kind: 'html_line', text, isRest });
    if (end?.test(text)) this.#closeLeaf();
  }

  #blankLine(rest: string, depth: number): void {
    if (this.#leaf?.kind === 'indented' && depth === this.#containers.depth) {
      this.#leaf.blanks.push(rest.slice(codeIndent));
      return;
    }
    this.#closeLeaf();
    // An item that begins with an empty line ends with a second one.
    const isOver = depth === this.#containers.depth && this.#containers.isEmptyItem;
    this.#closeTo(isOver ? depth - 1 : depth);
    this.#sawBlank = true;
  }

  /** Whether the line goes on with a paragraph although it lacks the marks of what that stands in. */
  #isLazy(rest: string): boolean {
    if (this.#leaf?.kind !== 'paragraph') return false;
    if (indentOf(rest) >= codeIndent || !mayStart(rest)) return true;
    const isStart =
      quoteStart(rest) !== undefined ||
      headingStart(rest) !== undefined ||
      fenceStart(rest) !== undefined ||
      itemStart(rest) !== undefined ||
      isRule(rest);
    return !isStart && htmlStart(rest)?.interrupts !== true;
  }

  #start(line: string): void {
    if (!mayStart(line)) return this.#text(line);
    let rest = line;
    for (let next = this.#container(rest); next !== undefined; next = this.#container(rest)) {
      rest = next;
      if (isBlank(rest)) return;
    }
    if (indentOf(rest) >= codeIndent) return this.#indented(rest);
    if (!this.#singleLine(rest) && !this.#open(rest)) this.#text(rest);
  }

  /** The line without the mark of a quote or an item that begins here. */
  #container(line: string): string | undefined {
    if (indentOf(line) >= codeIndent || this.#containers.depth >= maxDepth) return undefined;
    const quote = quoteStart(line);
    if (quote !== undefined) {
      this.#closeLeaf();
      this.#containers.openQuote();
      return line.slice(quote);
    }
    const item = itemStart(line);
    if (item === undefined || isRule(line) || !this.#maySplit(item)) return undefined;
    this.#closeLeaf();
    this.#containers.openItem(item);
    return line.slice(item.offset);
  }

  /** A paragraph is only ended by an item that is clearly one: no hyphen, no year. */
  #maySplit({ number = 1, isEmpty }: ItemStart): boolean {
    return this.#leaf?.kind !== 'paragraph' || (number === 1 && !isEmpty);
  }

  #indented(line: string): void {
    if (this.#leaf?.kind === 'paragraph') return this.#text(line);
    if (this.#leaf?.kind !== 'indented') {
      this.#closeLeaf();
      this.#emit({ kind: 'code_open', info: '' });
      this.#leaf = { kind: 'indented', blanks: [] };
    }
    for (const text of this.#leaf.blanks.splice(0)) {
      this.#emit({ kind: 'code_line', text, isCut: false });
    }
    this.#emit({ kind: 'code_line', text: line.slice(codeIndent), isCut: false });
  }

  /** A heading or a rule. */
  #singleLine(line: string): boolean {
    const level = this.#leaf?.kind === 'paragraph' ? underlineLevel(line) : undefined;
    if (level !== undefined) return this.#underlined(level);
    const heading = headingStart(line);
    if (heading === undefined && !isRule(line)) return false;
    this.#closeLeaf();
    this.#emit(heading === undefined ? { kind: 'rule' } : { kind: 'heading', ...heading });
    return true;
  }

  #underlined(level: number): boolean {
    const text = isText(this.#leaf) ? this.#leaf.lines.join('\n') : '';
    this.#leaf = undefined;
    this.#emit({ kind: 'heading', level, text });
    return true;
  }

  /** Code or HTML, which then goes on line by line. */
  #open(line: string): boolean {
    const fence = fenceStart(line);
    if (fence !== undefined) {
      this.#closeLeaf();
      this.#emit({ kind: 'code_open', info: fence.info });
      this.#leaf = { kind: 'fence', fence };
      return true;
    }
    const html = htmlStart(line);
    if (html === undefined || (isText(this.#leaf) && !html.interrupts)) return false;
    this.#closeLeaf();
    this.#leaf = { kind: 'html', end: html.end };
    this.#htmlLine(line, this.#leaf, false);
    return true;
  }

  #text(line: string): void {
    const text = line.trimStart();
    if (!isText(this.#leaf)) {
      this.#closeLeaf();
      this.#leaf = paragraphLeaf(text);
      return;
    }
    const { done, leaf } = grow(this.#leaf, text);
    if (done !== undefined) this.#emit(done);
    this.#leaf = leaf;
  }

  #closeTo(depth: number): void {
    if (this.#containers.depth > depth) this.#closeLeaf();
    while (this.#containers.depth > depth) {
      if (this.#containers.isEmptyItem) this.#emit({ kind: 'paragraph', text: '', isRest: false });
      this.#containers.close();
    }
  }

  #closeLeaf(): void {
    const content = this.#leaf && contentOf(this.#leaf);
    const hadBlanks = this.#leaf?.kind === 'indented' && this.#leaf.blanks.length > 0;
    this.#leaf = undefined;
    if (content !== undefined) this.#emit(content);
    if (hadBlanks) this.#sawBlank = true;
  }

  #emit(content: BlockContent): void {
    this.#containers.endList();
    const ids = this.#containers.ids;
    const gap = goesOn(content) ? undefined : this.#gap(ids);
    this.#blocks.push({ ...content, within: this.#containers.place(), gap });
    this.#last = ids;
    this.#sawBlank = false;
  }

  /** Blocks that stand alone are apart; in lists and quotes, those that are apart in the source. */
  #gap(ids: readonly number[]): number | undefined {
    const last = this.#last;
    if (last === undefined || (!this.#sawBlank && ids.length > 0)) return undefined;
    const differs = ids.findIndex((id, depth) => id !== last[depth]);
    return differs === -1 ? ids.length : differs;
  }
}

function goesOn(content: BlockContent): boolean {
  const isCode = content.kind === 'code_line' || content.kind === 'code_close';
  return isCode || ('isRest' in content && content.isRest);
}
