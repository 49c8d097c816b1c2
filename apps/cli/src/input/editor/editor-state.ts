/**
 * A long paste. It is shown as one short label, passed and erased as one unit, and sent in full.
 */
export interface Fold {
  readonly start: number;
  readonly end: number;
  /** Number of lines, counted once. */
  readonly lines: number;
}

/** Text that can contain folds. */
export interface FoldedText {
  /** The full text, which is what is sent. Lines end in `\n`. */
  readonly text: string;
  /** In ascending order, without overlaps. No fold is empty. */
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

/** Consecutive changes of one group are joined: typing with typing, kills with kills. */
export type EditGroup = 'typing' | 'erasing' | 'killing';

/** A text that was sent before. */
export interface HistoryEntry {
  readonly text: string;
  readonly folds?: readonly Fold[] | undefined;
}

/**
 * A prompt with its undo steps. The editor stores one for each history entry that the user has
 * left.
 */
export interface Draft extends Content {
  /** The newest step is last. */
  readonly undo: readonly Change[];
  readonly redo: readonly Change[];
}

/** The prompt editor as an immutable value. `edit` returns the next one. */
export interface EditorState extends Draft {
  /** The last killed text, which yank inserts. */
  readonly killed: FoldedText;
  /** Set while changes of one group follow each other without another action. */
  readonly editGroup: EditGroup | undefined;
  /** The column in cells that repeated up and down moves aim at. */
  readonly goalColumn: number | undefined;
  /** The reason why the last action had no effect, shown to the user. */
  readonly notice: string | undefined;
  /** The oldest entry is first. */
  readonly history: readonly HistoryEntry[];
  /** Position in the history. The length of the history stands for the draft. */
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

/** In UTF-16 code units. No model accepts a longer prompt. */
export const maxTextLength: number = 2 ** 22;

/** A cursor target that one key can reach. Lines are lines of the text, not rows of the screen. */
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
  /** Inserts typed text. Letters join into undo steps by words. A newline is `\n`. */
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
  /** Removes the same text, but yank can insert it again. Consecutive kills are joined. */
  | { readonly type: 'kill'; readonly to: Target }
  | { readonly type: 'yank' }
  /**
   * Moves a screen row up or down; `width` in cells sets the soft wraps. Beyond the first or the
   * last row it moves through the history.
   */
  | { readonly type: 'up' | 'down'; readonly width?: number | undefined }
  | { readonly type: 'undo' }
  | { readonly type: 'redo' }
  /** Replaces the text in one undo step and moves the cursor to its end. */
  | { readonly type: 'set'; readonly text: string }
  /** Inserts a withdrawn message before the text of the prompt. */
  | { readonly type: 'put_back'; readonly text: string }
  /**
   * Empties the prompt after a send. The sent text becomes the newest history entry, unless it
   * starts with a space.
   */
  | { readonly type: 'sent' }
  /** Sets the history after it was read. The text in the prompt stays. */
  | { readonly type: 'history'; readonly entries: readonly HistoryEntry[] };
