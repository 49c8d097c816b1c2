/**
 * A long paste that the prompt shows as a short label. The cursor treats it as one character. The
 * prompt sends its full text.
 */
export interface Fold {
  readonly start: number;
  readonly end: number;
  /** The number of lines in the fold. It is stored to avoid counting the lines again. */
  readonly lines: number;
}

/** Text that can contain folds. */
export interface FoldedText {
  /** The full text, which is sent. A line feed ends each line. */
  readonly text: string;
  /** The folds in ascending order, without overlaps. No fold is empty. */
  readonly folds: readonly Fold[];
}

/** A text whose source is known. */
export interface SourcedText extends FoldedText {
  /**
   * The number of characters at the start of the text that the user typed. The other characters can be a text of another
   * person, for example a paste.
   */
  readonly typed: number;
}

/** The text in the prompt and the cursor position. */
export interface Content extends FoldedText {
  /** The cursor as a UTF-16 offset. It is never inside a grapheme or a fold. */
  readonly cursor: number;
}

/** One undo step. It stores only the difference between two texts, which saves memory. */
export interface Change {
  readonly at: number;
  readonly removed: string;
  readonly inserted: string;
  readonly before: Omit<Content & SourcedText, 'text'>;
  readonly after: Omit<Content & SourcedText, 'text'>;
}

/** The group of a change. Consecutive changes of the same group become one undo step. */
export type EditGroup = 'typing' | 'erasing' | 'killing';

/** A text that the user sent or cleared before. */
export interface HistoryEntry {
  readonly text: string;
  readonly folds?: readonly Fold[] | undefined;
  /** The number of characters at its start that the user typed. Default: all. */
  readonly typed?: number | undefined;
  /** See `EditorState`. Default: none. */
  readonly drops?: readonly string[] | undefined;
}

/**
 * A prompt with its undo steps. The editor stores one for each history entry that the user edited
 * and then left.
 */
export interface Draft extends Content, SourcedText {
  /** The undo steps. The newest step is last. */
  readonly undo: readonly Change[];
  readonly redo: readonly Change[];
}

/** The prompt editor as an immutable value. `edit` returns the next value. */
export interface EditorState extends Draft {
  /**
   * The short texts that arrived as a whole, by themselves, since the last message. One of them can be the path of a file
   * that the user dropped into the terminal.
   */
  readonly drops: readonly string[];
  /** The last killed text, which yank inserts. */
  readonly killed: SourcedText;
  /** The group of the last change. Undefined if the last action was not a change. */
  readonly editGroup: EditGroup | undefined;
  /** The column, in cells, that repeated up and down moves try to keep. */
  readonly goalColumn: number | undefined;
  /** The reason why the last action had no effect. The prompt shows this text. */
  readonly notice: string | undefined;
  /** The texts that the user sent before, oldest first. */
  readonly history: readonly HistoryEntry[];
  /**
   * The position in the history. If it equals the length of the history, the prompt shows the
   * draft.
   */
  readonly historyIndex: number;
  /**
   * The edited texts of history positions that are not shown now. While a history entry is shown,
   * they include the draft.
   */
  readonly drafts: ReadonlyMap<number, Draft>;
}

export const emptyText: SourcedText = { text: '', folds: [], typed: 0 };

const emptyDraft: Draft = { ...emptyText, cursor: 0, undo: [], redo: [] };

export function createEditor(history: readonly HistoryEntry[] = []): EditorState {
  return {
    ...emptyDraft,
    drops: [],
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
 * A position to which one key moves the cursor. A line here is a line of the text, not a row of the
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
   * Inserts typed text. Consecutive letters are joined, so that each word is one undo step. A
   * new line is a line feed. `isWhole` is a field of the key.
   */
  | {
      readonly type: 'insert';
      readonly text: string;
      readonly isWhole?: boolean | undefined;
    }
  /** Inserts a paste as one undo step. A long paste is folded. `isWhole` is a field of the key. */
  | {
      readonly type: 'paste';
      readonly text: string;
      readonly isWhole?: boolean | undefined;
    }
  /**
   * Replaces the text from `start` to `end`, for example with a completion. The cursor is then at
   * the end of the new text.
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
   * Removes the text between the cursor and the target, and stores it for yank. The texts of
   * consecutive kills are joined.
   */
  | { readonly type: 'kill'; readonly to: Target }
  | { readonly type: 'yank' }
  /**
   * Moves the cursor one screen row up or down. `width` is the number of cells at which a row
   * wraps. From the first or the last row, the cursor moves to the previous or next history entry.
   */
  | { readonly type: 'up' | 'down'; readonly width?: number | undefined }
  | { readonly type: 'undo' }
  | { readonly type: 'redo' }
  /**
   * Replaces the text in one undo step. The cursor is then at the end. `typed` is the number of characters at its start
   * that the user typed. Default: the user has edited the text of the prompt in another program.
   */
  | { readonly type: 'set'; readonly text: string; readonly typed?: number | undefined }
  /** Inserts a withdrawn message before the text of the prompt. */
  | { readonly type: 'put_back'; readonly text: string }
  /**
   * Empties the prompt after its text was sent. The text becomes the newest history entry, unless
   * it starts with a space.
   */
  | { readonly type: 'sent' }
  /** Sets the history when it is loaded. The text in the prompt does not change. */
  | { readonly type: 'history'; readonly entries: readonly HistoryEntry[] };
