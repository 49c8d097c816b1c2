/**
 * A long paste. The prompt shows it as one short label. The cursor moves over it, and erases it, as
 * one unit. It is sent in full.
 */
export interface Fold {
  readonly start: number;
  readonly end: number;
  /** The number of lines in the fold. It is stored, so that the lines are counted only once. */
  readonly lines: number;
}

/** Text that can contain folds. */
export interface FoldedText {
  /** The full text. This text is sent. Lines end in `\n`. */
  readonly text: string;
  /** The folds in ascending order, without overlaps. No fold is empty. */
  readonly folds: readonly Fold[];
}

/** The text in the prompt and the cursor position. */
export interface Content extends FoldedText {
  /** A UTF-16 offset that is never inside a grapheme or a fold. */
  readonly cursor: number;
}

/** One undo step. It stores only the difference, so that large texts are not stored many times. */
export interface Change {
  readonly at: number;
  readonly removed: string;
  readonly inserted: string;
  readonly before: Omit<Content, 'text'>;
  readonly after: Omit<Content, 'text'>;
}

/**
 * The group of a change. Consecutive changes of one group become one undo step: typing with typing,
 * kills with kills.
 */
export type EditGroup = 'typing' | 'erasing' | 'killing';

/** A text that the user sent before. */
export interface HistoryEntry {
  readonly text: string;
  readonly folds?: readonly Fold[] | undefined;
}

/**
 * A prompt with its undo steps. The editor stores one for each history entry that the user has
 * edited and left.
 */
export interface Draft extends Content {
  /** The undo steps. The newest step is last. */
  readonly undo: readonly Change[];
  readonly redo: readonly Change[];
}

/** The prompt editor as an immutable value. `edit` returns the next one. */
export interface EditorState extends Draft {
  /** The last killed text, which yank inserts. */
  readonly killed: FoldedText;
  /** The group of the last change. Undefined if the last action was not a change. */
  readonly editGroup: EditGroup | undefined;
  /** The column, in cells, to which repeated up and down moves return. */
  readonly goalColumn: number | undefined;
  /** Why the last action had no effect. The prompt shows this text to the user. */
  readonly notice: string | undefined;
  /** The texts that were sent before, the oldest first. */
  readonly history: readonly HistoryEntry[];
  /**
   * The position in the history. If it is the length of the history, the prompt shows the draft.
   */
  readonly historyIndex: number;
  /**
   * The edited texts at other history positions, including the draft while a history entry is
   * shown.
   */
  readonly drafts: ReadonlyMap<number, Draft>;
}

export const emptyText: FoldedText = { text: '', folds: [] };

const emptyDraft: Draft = { ...emptyText, cursor: 0, undo: [], redo: [] };

export function createEditor(history: readonly HistoryEntry[] = []): EditorState {
  return {
    ...emptyDraft,
    killed: emptyText,
    editGroup: undefined,
    goalColumn: undefined,
    notice: undefined,
    history,
    historyIndex: history.length,
    drafts: new Map(),
  };
}

/** Maximum length of the prompt, in UTF-16 code units. No model accepts a longer prompt. */
export const maxTextLength: number = 2 ** 22;

/**
 * A position to which one key moves the cursor. Lines are lines of the text, not rows of the
 * screen.
 */
export type Target =
  | 'left'
  | 'right'
  | 'word_left'
  | 'word_right'
  | 'line_start'
  | 'line_end'
  | 'text_start'
  | 'text_end';

export type EditAction =
  /**
   * Inserts typed text. Typed letters are joined, so that each word is one undo step. A newline is
   * `\n`.
   */
  | { readonly type: 'insert'; readonly text: string }
  /** Inserts a paste as one undo step. A long paste is folded. */
  | { readonly type: 'paste'; readonly text: string }
  /**
   * Replaces the text from `start` to `end`, for example with a completion. The cursor moves to the
   * end of the new text.
   */
  | {
      readonly type: 'replace';
      readonly start: number;
      readonly end: number;
      readonly text: string;
    }
  | { readonly type: 'move'; readonly to: Target }
  /** Removes the text between the cursor and the target. */
  | { readonly type: 'erase'; readonly to: Target }
  /**
   * Removes the text between the cursor and the target, and keeps it for yank. Consecutive kills
   * are joined.
   */
  | { readonly type: 'kill'; readonly to: Target }
  | { readonly type: 'yank' }
  /**
   * Moves the cursor one screen row up or down. `width` is the width of a row in cells, at which
   * the text wraps. Beyond the first or the last row, it moves through the history.
   */
  | { readonly type: 'up' | 'down'; readonly width?: number | undefined }
  | { readonly type: 'undo' }
  | { readonly type: 'redo' }
  /** Replaces the text in one undo step and moves the cursor to its end. */
  | { readonly type: 'set'; readonly text: string }
  /** Inserts a withdrawn message before the text of the prompt. */
  | { readonly type: 'put_back'; readonly text: string }
  /**
   * Empties the prompt after the text was sent. The text becomes the newest history entry, unless
   * it starts with a space.
   */
  | { readonly type: 'sent' }
  /** Sets the history after it was read. The text in the prompt stays. */
  | { readonly type: 'history'; readonly entries: readonly HistoryEntry[] };
