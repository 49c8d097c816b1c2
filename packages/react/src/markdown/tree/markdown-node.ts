import type { GrowingList } from './growing-list.tsx';

/** A part of a document. While its content does not change, it stays the same object. */
export type MarkdownNode =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | ParagraphNode
  | TableNode
  | CodeNode
  | { readonly kind: 'html'; readonly pieces: GrowingList<string> }
  | PlainNode
  | { readonly kind: 'rule' }
  | { readonly kind: 'quote'; readonly id: number; readonly children: GrowingList<MarkdownNode> }
  | DetailsNode
  | FootnoteNode
  | ListNode;

/** The source of the rest of a text that has too many blocks. The page shows it without a format. */
interface PlainNode {
  readonly kind: 'plain';
  readonly pieces: GrowingList<string>;
}

/** The blocks between the tags `<details>` and `</details>`. */
export interface DetailsNode {
  readonly kind: 'details';
  readonly summary: string;
  /** True if the blocks are visible at first. */
  readonly isOpen: boolean;
  /** True after the closing tag. Later blocks are then not part of the details. */
  readonly isClosed: boolean;
  readonly children: GrowingList<MarkdownNode>;
}

/** The text of a footnote. The page shows it at the place where the source has it. */
export interface FootnoteNode {
  readonly kind: 'footnote';
  readonly id: number;
  readonly label: string;
  readonly children: GrowingList<MarkdownNode>;
}

export interface ParagraphNode {
  readonly kind: 'paragraph';
  readonly text: string;
  /**
   * True for the first text of a list item. The page shows it without its own paragraph element.
   */
  readonly isItemText: boolean;
  /** True if this node continues the previous one. A very long paragraph is parsed in pieces. */
  readonly isRest: boolean;
}

export interface TableNode {
  readonly kind: 'table';
  /** The source lines that define the columns: the titles, and the line of dashes below them. */
  readonly head: string;
  readonly under: string;
  /** The rows. A long table arrives in several parts. */
  readonly parts: GrowingList<readonly string[]>;
}

export interface CodeNode {
  readonly kind: 'code';
  readonly info: string;
  /** The source code, in pieces. Joined together, they are the whole code. */
  readonly pieces: GrowingList<string>;
  /** False while the code can grow. */
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
  /** True if an empty line separates this item from the previous one. */
  readonly isApart: boolean;
  readonly children: GrowingList<MarkdownNode>;
}
