import type { BlockContent, Container } from './block.ts';
import {
  codeIndent,
  type FenceStart,
  type ItemStart,
  indentOf,
  isBlank,
  isTableStart,
  quoteStart,
} from './line-start.ts';

interface OpenQuote {
  readonly kind: 'quote';
  readonly id: number;
}

interface OpenItem {
  readonly kind: 'item';
  readonly id: number;
  readonly list: number;
  readonly number: string | undefined;
  /** The minimum indentation of lines that belong to the item. */
  readonly offset: number;
  /** True until the item has a block. */
  isEmpty: boolean;
}

interface OpenFootnote {
  readonly kind: 'footnote';
  readonly id: number;
  readonly label: string;
  /** True until the footnote has a block. */
  isEmpty: boolean;
}

type OpenContainer = OpenQuote | OpenItem | OpenFootnote;

interface List {
  readonly id: number;
  readonly mark: string;
  /** The number of the next item. */
  readonly next: number;
}

interface Match {
  /** The number of open containers that the line belongs to. */
  readonly depth: number;
  /** The line without the marks and the indentation of these containers. */
  readonly rest: string;
}

/** The open quotes, list items and footnotes, outermost first. */
export class ContainerStack {
  readonly #open: OpenContainer[] = [];
  /** For each depth, the list that a new item at this depth would continue. */
  readonly #lists: (List | undefined)[] = [];
  #count = 0;

  copy(): ContainerStack {
    const copy = new ContainerStack();
    copy.#open.push(...this.#open.map((container) => ({ ...container })));
    copy.#lists.push(...this.#lists);
    copy.#count = this.#count;
    return copy;
  }

  get depth(): number {
    return this.#open.length;
  }

  /** True if the innermost container is an item or a footnote without a block. */
  get isEmptyItem(): boolean {
    const last = this.#open.at(-1);
    return last !== undefined && last.kind !== 'quote' && last.isEmpty;
  }

  get ids(): readonly number[] {
    return this.#open.map(({ id }) => id);
  }

  /** Finds the open containers that a line belongs to. */
  match(line: string): Match {
    let rest = line;
    for (const [depth, container] of this.#open.entries()) {
      const own = prefixLength(container, rest);
      if (own === undefined) return { depth, rest };
      rest = rest.slice(own);
    }
    return { depth: this.#open.length, rest };
  }

  openQuote(): void {
    this.endList();
    this.#open.push({ kind: 'quote', id: this.#count++ });
  }

  openFootnote(label: string): void {
    this.endList();
    this.#open.push({ kind: 'footnote', id: this.#count++, label, isEmpty: true });
  }

  openItem({ number, mark, offset }: ItemStart): void {
    const depth = this.#open.length;
    const id = this.#count++;
    const before = this.#lists[depth];
    const list = before?.mark === mark ? before : { id, mark, next: number ?? 0 };
    this.#lists.length = depth + 1;
    this.#lists[depth] = { ...list, next: list.next + 1 };
    const shown = number === undefined ? undefined : `${list.next}${mark}`;
    this.#open.push({ kind: 'item', id, list: list.id, number: shown, offset, isEmpty: true });
  }

  close(): void {
    this.#open.pop();
    this.#lists.length = Math.min(this.#lists.length, this.#open.length + 1);
  }

  /**
   * Ends the lists at this depth, so that the next item starts a new list. The parser calls it for each block
   * that is not a list item.
   */
  endList(): void {
    this.#lists.length = Math.min(this.#lists.length, this.#open.length);
  }

  /** Returns the containers of the next block, and marks their items as not empty. */
  place(): readonly Container[] {
    return this.#open.map((container): Container => {
      if (container.kind === 'quote') return { kind: 'quote', id: container.id };
      const { id, isEmpty } = container;
      container.isEmpty = false;
      if (container.kind === 'footnote')
        return { kind: 'footnote', id, label: container.label, opens: isEmpty };
      const { list, number } = container;
      return { kind: 'item', id, list, number, opens: isEmpty };
    });
  }
}

/**
 * Returns the length of the container's mark or indentation in a line. Returns undefined if the line is not
 * in the container.
 */
function prefixLength(container: OpenContainer, line: string): number | undefined {
  if (container.kind === 'quote') return quoteStart(line);
  const offset = container.kind === 'item' ? container.offset : codeIndent;
  const isIn = isBlank(line) || indentOf(line) >= offset;
  return isIn ? Math.min(offset, line.length) : undefined;
}

/** An open paragraph or table. Its lines become one block when it ends. */
export interface TextLeaf {
  readonly kind: 'paragraph' | 'table';
  readonly lines: string[];
  size: number;
  /** True if the first part of this paragraph or table was already emitted. */
  readonly isRest: boolean;
}

/** The open block to which lines are added. */
export type Leaf =
  | TextLeaf
  | { readonly kind: 'fence'; readonly fence: FenceStart }
  /**
   * Indented code. Empty lines are kept until more code follows. If no code follows, the empty lines are not
   * part of the block.
   */
  | { readonly kind: 'indented'; readonly blanks: string[] }
  /** A formula. A line that ends with `end` is the last line of the formula. An empty line also ends it. */
  | { readonly kind: 'math'; readonly end: string }
  | { readonly kind: 'html'; readonly end: RegExp | undefined };

/**
 * Maximum size of a paragraph or table in characters. A longer paragraph or table is emitted in parts, which
 * limits the time for each part.
 */
const maxSize = 32_768;

export function paragraphLeaf(line: string, isRest = false): TextLeaf {
  return textLeaf('paragraph', [line], isRest);
}

export function isText(leaf: Leaf | undefined): leaf is TextLeaf {
  return leaf?.kind === 'paragraph' || leaf?.kind === 'table';
}

interface GrownLeaf {
  /** The content of a complete part. Undefined if the block only became longer. */
  readonly done?: BlockContent | undefined;
  readonly leaf: TextLeaf;
}

/** Adds a line to a paragraph or a table. The result may be a new leaf. */
export function grow(leaf: TextLeaf, line: string): GrownLeaf {
  const head = leaf.lines.at(-1) ?? '';
  if (leaf.kind === 'paragraph' && isTableStart(head, line)) {
    leaf.lines.pop();
    return { done: contentOf(leaf), leaf: textLeaf('table', [head, line]) };
  }
  if (leaf.size + line.length > maxSize) return { done: contentOf(leaf), leaf: restOf(leaf, line) };
  leaf.lines.push(line);
  leaf.size += line.length;
  return { leaf };
}

/**
 * Returns the leaf for the rest of a long paragraph or table. A table repeats its head, because the head
 * defines the columns.
 */
function restOf(leaf: TextLeaf, line: string): TextLeaf {
  if (leaf.kind === 'paragraph') return paragraphLeaf(line, true);
  return textLeaf('table', [...leaf.lines.slice(0, 2), line], true);
}

function textLeaf(kind: TextLeaf['kind'], lines: string[], isRest = false): TextLeaf {
  return { kind, lines, size: lines.reduce((sum, line) => sum + line.length, 0), isRest };
}

/**
 * Returns the content of the block when a leaf ends. Returns undefined for HTML, whose lines were emitted one
 * by one, and for an empty paragraph.
 */
export function contentOf(leaf: Leaf): BlockContent | undefined {
  switch (leaf.kind) {
    case 'paragraph':
      return leaf.lines.length === 0
        ? undefined
        : { kind: 'paragraph', text: leaf.lines.join('\n'), isRest: leaf.isRest };
    case 'table':
      return { kind: 'table', rows: leaf.lines, isRest: leaf.isRest };
    case 'fence':
    case 'math':
    case 'indented':
      return { kind: 'code_close' };
    case 'html':
      return undefined;
  }
}

export function copyLeaf(leaf: Leaf): Leaf {
  if (isText(leaf)) return { ...leaf, lines: [...leaf.lines] };
  return leaf.kind === 'indented' ? { ...leaf, blanks: [...leaf.blanks] } : leaf;
}
