import type { Block, BlockContent, OnWork } from './block.ts';
import { expandTabs, fromColumn, type SourceLine } from './line-reader.ts';
import {
  codeIndent,
  fenceStart,
  footnoteStart,
  headingStart,
  htmlStart,
  type ItemStart,
  indentOf,
  isBlank,
  isFenceEnd,
  isRule,
  itemStart,
  mathEnd,
  mayStart,
  quoteStart,
  underlineLevel,
} from './line-start.ts';
import {
  ContainerStack,
  contentOf,
  copyLeaf,
  grow,
  isText,
  type Leaf,
  paragraphLeaf,
} from './open-blocks.ts';

/** The maximum nesting of quotes and list items. At a greater depth, their marks are text. */
const maxDepth = 12;

/** Turns lines into blocks. It reads each line once and never reads earlier lines again. */
export class BlockParser {
  readonly #onWork: OnWork | undefined;
  #containers = new ContainerStack();
  #leaf: Leaf | undefined;
  #blocks: Block[] = [];
  /** True if an empty line came after the last block. */
  #sawBlank = false;
  /** The ids of the containers of the last block. Undefined before the first block. */
  #last: readonly number[] | undefined;
  /** The current line with its tabs, and the length of the line with spaces instead of tabs. */
  #line = '';
  #columns = 0;
  /** True if the next line is not complete yet. Characters that arrive later can change its meaning. */
  #isLastLine = false;

  constructor(onWork?: OnWork) {
    this.#onWork = onWork;
  }

  /**
   * Returns a new parser that continues at the same position. The new parser does not contain the finished
   * blocks.
   */
  copy(isLastLine = false): BlockParser {
    const copy = new BlockParser(this.#onWork);
    copy.#containers = this.#containers.copy();
    copy.#leaf = this.#leaf && copyLeaf(this.#leaf);
    copy.#sawBlank = this.#sawBlank;
    copy.#last = this.#last;
    copy.#isLastLine = isLastLine;
    return copy;
  }

  /** Returns the blocks that were finished since the last call. */
  take(): readonly Block[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  line({ text, isRest }: SourceLine): void {
    const line = expandTabs(text);
    this.#line = text;
    this.#columns = line.length;
    this.#onWork?.(line.length + 1);
    if (isRest) return this.#continueLine(text);
    this.#onWork?.(line.length * this.#containers.depth);
    const { depth, rest } = this.#containers.match(line);
    const isInside = depth === this.#containers.depth;
    if (isInside && this.#leaf?.kind === 'fence') return this.#fenceLine(rest, this.#leaf);
    if (isInside && this.#leaf?.kind === 'html') return this.#htmlLine(rest, this.#leaf);
    if (isBlank(rest)) return this.#blankLine(rest, depth);
    if (isInside && this.#leaf?.kind === 'math') return this.#mathLine(rest, this.#leaf);
    if (!isInside && this.#isLazy(rest, depth)) return this.#text(rest);
    this.#closeTo(depth);
    this.#start(rest);
  }

  /** Closes all open blocks. */
  end(): void {
    this.#closeLeaf();
    this.#closeTo(0);
  }

  /** Reads the next piece of a line that is too long for one piece. */
  #continueLine(text: string): void {
    const kind = this.#leaf?.kind;
    if (kind === 'fence' || kind === 'math' || kind === 'indented') {
      return this.#emit({ kind: 'code_line', text, isCut: true });
    }
    if (kind === 'html') return this.#emit({ kind: 'html_line', text, isRest: true });
    this.#closeLeaf();
    this.#leaf = paragraphLeaf(text, true);
  }

  #fenceLine(text: string, { fence }: Leaf & { kind: 'fence' }): void {
    if (isFenceEnd(text, fence)) return this.#closeLeaf();
    const own = Math.min(fence.indent, indentOf(text));
    this.#codeLine(text.slice(own));
  }

  #mathLine(line: string, { end }: Leaf & { kind: 'math' }): void {
    const text = line.trimEnd();
    const isLast = text.endsWith(end);
    const content = isLast ? text.slice(0, -end.length) : line;
    if (!isLast || !isBlank(content))
      this.#emit({ kind: 'code_line', text: content.trim(), isCut: false });
    if (isLast) this.#closeLeaf();
  }

  #htmlLine(text: string, { end }: Leaf & { kind: 'html' }, isRest = true): void {
    if (end === undefined && isBlank(text)) return this.#blankLine(text, this.#containers.depth);
    this.#emit({ kind: 'html_line', text: this.#withTabs(text), isRest });
    if (end?.test(text)) this.#closeLeaf();
  }

  #blankLine(rest: string, depth: number): void {
    if (this.#leaf?.kind === 'indented' && depth === this.#containers.depth) {
      this.#leaf.blanks.push(rest.slice(codeIndent));
      return;
    }
    this.#closeLeaf();
    // A list item that starts with an empty line ends at the next empty line.
    const isOver = depth === this.#containers.depth && this.#containers.isEmptyItem;
    this.#closeTo(isOver ? depth - 1 : depth);
    this.#sawBlank = true;
  }

  /**
   * Returns true if the line continues a paragraph, although it does not start with the marks of the
   * paragraph's quotes and list items.
   */
  #isLazy(rest: string, depth: number): boolean {
    if (this.#leaf?.kind !== 'paragraph') return false;
    if (indentOf(rest) >= codeIndent || !mayStart(rest)) return true;
    const isStart =
      quoteStart(rest) !== undefined ||
      headingStart(rest) !== undefined ||
      fenceStart(rest) !== undefined ||
      mathEnd(rest) !== undefined ||
      itemStart(rest) !== undefined ||
      (depth === 0 && footnoteStart(rest) !== undefined) ||
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

  /**
   * Opens a quote, a list item or a footnote that starts at this line. Returns the line without its mark.
   * Returns undefined if the line starts none of them.
   */
  #container(line: string): string | undefined {
    if (indentOf(line) >= codeIndent || this.#containers.depth >= maxDepth) return undefined;
    const quote = quoteStart(line);
    if (quote !== undefined) {
      this.#closeLeaf();
      this.#containers.openQuote();
      return line.slice(quote);
    }
    // Only a line outside of lists and quotes can start a footnote.
    const footnote = this.#containers.depth === 0 ? footnoteStart(line) : undefined;
    if (footnote !== undefined) {
      this.#closeLeaf();
      this.#containers.openFootnote(footnote.label);
      return line.slice(footnote.offset);
    }
    const item = itemStart(line);
    if (item === undefined || isRule(line) || !this.#maySplit(item)) return undefined;
    this.#closeLeaf();
    this.#containers.openItem(item);
    return line.slice(item.offset);
  }

  /**
   * Returns whether an item can start here. Inside a paragraph, a hyphen without text does not start a list,
   * and a number other than 1, such as a year, does not either.
   */
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
    this.#codeLine(line.slice(codeIndent));
  }

  #codeLine(text: string): void {
    this.#emit({ kind: 'code_line', text: this.#withTabs(text), isCut: false });
  }

  /** Returns the end of the current line, with tabs as in the source. */
  #withTabs(end: string): string {
    return fromColumn(this.#line, this.#columns - end.length);
  }

  /** Reads a heading or a rule. Returns false if the line is neither. */
  #singleLine(line: string): boolean {
    const level = this.#leaf?.kind === 'paragraph' ? underlineLevel(line) : undefined;
    if (level !== undefined) {
      if (this.#isLastLine) this.#undecided(line);
      else this.#underlined(level);
      return true;
    }
    const heading = headingStart(line);
    if (heading === undefined && !isRule(line)) return false;
    this.#closeLeaf();
    this.#emit(heading === undefined ? { kind: 'rule' } : { kind: 'heading', ...heading });
    return true;
  }

  #underlined(level: number): void {
    const text = isText(this.#leaf) ? this.#leaf.lines.join('\n') : '';
    this.#leaf = undefined;
    this.#emit({ kind: 'heading', level, text });
  }

  /**
   * Reads an incomplete line that can still become an underline, a rule or a list item. Until it is complete,
   * the line is a paragraph.
   */
  #undecided(line: string): void {
    this.#closeLeaf();
    this.#leaf = paragraphLeaf(line.trim());
  }

  /**
   * Opens a code block, a formula or an HTML block. Returns false if the line starts none of them. The parser
   * emits the lines of these blocks one by one.
   */
  #open(line: string): boolean {
    const fence = fenceStart(line);
    if (fence !== undefined) {
      this.#closeLeaf();
      this.#emit({ kind: 'code_open', info: fence.info });
      this.#leaf = { kind: 'fence', fence };
      return true;
    }
    const end = mathEnd(line);
    if (end !== undefined) {
      this.#closeLeaf();
      this.#emit({ kind: 'code_open', info: 'math' });
      this.#leaf = { kind: 'math', end };
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

  /**
   * Returns the number of containers (quotes and list items) that contain the empty line before a block.
   * Returns undefined if there is no empty line. Blocks outside of containers are always separated. Inside
   * containers, two blocks are separated only if the source has an empty line between them.
   */
  #gap(ids: readonly number[]): number | undefined {
    const last = this.#last;
    if (last === undefined || (!this.#sawBlank && ids.length > 0)) return undefined;
    const differs = ids.findIndex((id, depth) => id !== last[depth]);
    return differs === -1 ? ids.length : differs;
  }
}

/** Returns true if the content continues the previous block. */
function goesOn(content: BlockContent): boolean {
  const isCode = content.kind === 'code_line' || content.kind === 'code_close';
  return isCode || ('isRest' in content && content.isRest);
}
