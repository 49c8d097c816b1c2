import type { Container } from './block.ts';
import { type ItemStart, indentOf, isBlank, quoteStart } from './block-start.ts';

interface OpenQuote {
  readonly kind: 'quote';
  readonly id: number;
}

interface OpenItem {
  readonly kind: 'item';
  readonly id: number;
  readonly number: string | undefined;
  /** How far a line must be indented to belong to it. */
  readonly offset: number;
  /** Nothing has come of it yet. */
  isEmpty: boolean;
}

type OpenContainer = OpenQuote | OpenItem;

interface List {
  readonly mark: string;
  readonly next: number;
}

export interface Matched {
  /** How many of the open containers the line belongs to. */
  readonly depth: number;
  /** The line without what belongs to them. */
  readonly rest: string;
}

/** The quotes and list items that are open, the outermost first. */
export class ContainerStack {
  readonly #open: OpenContainer[] = [];
  /** The list that an item at this depth would go on. */
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

  /** Whether the innermost is an item of which nothing has come. */
  get isEmptyItem(): boolean {
    const last = this.#open.at(-1);
    return last?.kind === 'item' && last.isEmpty;
  }

  get ids(): readonly number[] {
    return this.#open.map(({ id }) => id);
  }

  match(line: string): Matched {
    let rest = line;
    for (const [depth, container] of this.#open.entries()) {
      const own = ownLength(container, rest);
      if (own === undefined) return { depth, rest };
      rest = rest.slice(own);
    }
    return { depth: this.#open.length, rest };
  }

  openQuote(): void {
    this.endList();
    this.#open.push({ kind: 'quote', id: this.#count++ });
  }

  openItem({ number, mark, offset }: ItemStart): void {
    const depth = this.#open.length;
    const list = this.#lists[depth];
    const counted = list?.mark === mark ? list.next : (number ?? 0);
    this.#lists.length = depth + 1;
    this.#lists[depth] = { mark, next: counted + 1 };
    const shown = number === undefined ? undefined : `${counted}${mark}`;
    this.#open.push({ kind: 'item', id: this.#count++, number: shown, offset, isEmpty: true });
  }

  close(): void {
    this.#open.pop();
    this.#lists.length = Math.min(this.#lists.length, this.#open.length + 1);
  }

  /** Something stands here that is no item: one that follows begins a list. */
  endList(): void {
    this.#lists.length = Math.min(this.#lists.length, this.#open.length);
  }

  /** What a block that comes now stands in. */
  place(): readonly Container[] {
    return this.#open.map((container): Container => {
      if (container.kind === 'quote') return { kind: 'quote' };
      const opens = container.isEmpty;
      container.isEmpty = false;
      return { kind: 'item', number: container.number, opens };
    });
  }
}

/** How much of the line belongs to the container; undefined if the line is not in it. */
function ownLength(container: OpenContainer, line: string): number | undefined {
  if (container.kind === 'quote') return quoteStart(line);
  const isIn = isBlank(line) || indentOf(line) >= container.offset;
  return isIn ? Math.min(container.offset, line.length) : undefined;
}
