import type { FootnoteNode } from './markdown-node.ts';

/** A footnote of a text. */
export interface StoredFootnote {
  /**
   * The number of the footnote in the text, counted from the start. The ids of its elements contain
   * this number.
   */
  readonly index: number;
  readonly node: FootnoteNode;
}

/**
 * The footnotes of one text. A footnote usually arrives after the references to it, so references
 * subscribe to this store. A new footnote then renders only the references again, and not the whole
 * text.
 */
export class FootnoteStore {
  readonly #byLabel = new Map<string, StoredFootnote>();
  readonly #listeners = new Set<() => void>();
  #isChanged = false;

  /**
   * Adds a footnote, or replaces it while it grows. If a label is defined twice, the first footnote
   * is used.
   */
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

  /**
   * Notifies the subscribers if a label was added or removed. Do not call it while React renders.
   */
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
