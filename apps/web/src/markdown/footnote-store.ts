import type { FootnoteNode } from './markdown-node.ts';

/** A footnote that the text defines. */
export interface StoredFootnote {
  /** The number of the footnote in the order of the text. It is part of the ids of its elements. */
  readonly index: number;
  readonly node: FootnoteNode;
}

/**
 * The footnotes of one text. References subscribe to it, because a footnote usually arrives after the
 * references to it. So a new footnote renders only the references again, and not the whole text.
 */
export class FootnoteStore {
  readonly #byLabel = new Map<string, StoredFootnote>();
  readonly #listeners = new Set<() => void>();
  #isChanged = false;

  /** Adds a footnote, or replaces it while it grows. The first footnote of a label is the valid one. */
  add(node: FootnoteNode): void {
    const known = this.#byLabel.get(node.label);
    if (known !== undefined && known.node.id !== node.id) return;
    this.#isChanged ||= known === undefined;
    this.#byLabel.set(node.label, { index: known?.index ?? this.#byLabel.size, node });
  }

  get(label: string): StoredFootnote | undefined {
    return this.#byLabel.get(label);
  }

  clear(): void {
    this.#isChanged ||= this.#byLabel.size > 0;
    this.#byLabel.clear();
  }

  /** Calls the subscribers if a label was added or removed. React must not be rendering. */
  publish(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    for (const listener of [...this.#listeners]) listener();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}
