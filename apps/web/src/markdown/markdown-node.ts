import type { GrowingList } from './growing-list.tsx';

/** A part of a document. It stays the same object while it does not change. */
export type MarkdownNode =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | ParagraphNode
  | TableNode
  | CodeNode
  | { readonly kind: 'html'; readonly pieces: GrowingList<string> }
  | { readonly kind: 'rule' }
  | { readonly kind: 'quote'; readonly id: number; readonly children: GrowingList<MarkdownNode> }
  | DetailsNode
  | FootnoteNode
  | ListNode;

/** Blocks that the source encloses in `<details>` and `</details>`. */
export interface DetailsNode {
  readonly kind: 'details';
  readonly summary: string;
  /** True if the blocks are visible at first. */
  readonly isOpen: boolean;
  /** True after the closing tag. Later blocks are then outside. */
  readonly isClosed: boolean;
  readonly children: GrowingList<MarkdownNode>;
}

/** The text of a footnote. It is shown where the source has it. */
export interface FootnoteNode {
  readonly kind: 'footnote';
  readonly id: number;
  readonly label: string;
  readonly children: GrowingList<MarkdownNode>;
}

export interface ParagraphNode {
  readonly kind: 'paragraph';
  readonly text: string;
  /** True for the first text of a list item. It has no element of its own. */
  readonly isItemText: boolean;
  /** True if this node continues the previous one. A very long paragraph is parsed in pieces. */
  readonly isRest: boolean;
}

export interface TableNode {
  readonly kind: 'table';
  /** The source lines that define the columns: the titles and the line below them. */
  readonly head: string;
  readonly under: string;
  /** The rows. A long table arrives in several parts. */
  readonly parts: GrowingList<readonly string[]>;
}

export interface CodeNode {
  readonly kind: 'code';
  readonly info: string;
  /** The code is the concatenation of the pieces. */
  readonly pieces: GrowingList<string>;
  /** False while more code can follow. */
  readonly isDone: boolean;
}

export interface ListNode {
  readonly kind: 'list';
  readonly id: number;
  /** The number of the first item. Undefined if the list has bullets. */
  readonly start: number | undefined;
  readonly items: GrowingList<ListItem>;
}

export interface ListItem {
  readonly id: number;
  /** True if the box of a task is checked. Undefined if the item is not a task. */
  readonly isChecked: boolean | undefined;
  /** True if an empty line separates the item from the previous one. */
  readonly isApart: boolean;
  readonly children: GrowingList<MarkdownNode>;
}
