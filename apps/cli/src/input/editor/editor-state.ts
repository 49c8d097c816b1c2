/** A long paste: it is shown as one short label, is passed and erased as one, and sent whole. */
export interface Fold {
  readonly start: number;
  readonly end: number;
  /** How many lines it has: counted once. */
  readonly lines: number;
}

/** A piece of text that may have folds in it. */
export interface Piece {
  /** Lines end in `\n`. Whole: this is what is sent. */
  readonly text: string;
  /** In order, apart from each other, none of them empty. */
  readonly folds: readonly Fold[];
}

/** What is in the prompt, and where in it one is. */
export interface Content extends Piece {
  /** A UTF-16 offset, never inside of a grapheme or a fold. */
  readonly cursor: number;
}

/** One step of undo. It keeps what changed, not the whole text, so that large texts are not kept many times. */
export interface Change {
  readonly at: number;
  readonly removed: string;
  readonly inserted: string;
  readonly before: Omit<Content, 'text'>;
  readonly after: Omit<Content, 'text'>;
}

/** What the next change of the same kind goes on with: typing with typing, kills with kills. */
export type Run = 'typing' | 'erasing' | 'killing';

/** What was sent before. */
export interface HistoryEntry {
  readonly text: string;
  readonly folds?: readonly Fold[] | undefined;
}

/** A prompt with its undo. One of these is kept for each place of the history that was left. */
export interface Draft extends Content {
  /** The newest last. */
  readonly undo: readonly Change[];
  readonly redo: readonly Change[];
}

/** The prompt's editor as a value. `edit` makes the next one. */
export interface EditorState extends Draft {
  /** What was killed last, for yank. */
  readonly killed: Piece;
  /** Set while changes of one kind follow each other without anything in between. */
  readonly run: Run | undefined;
  /** The column, in cells, that up and down aim at while they follow each other. */
  readonly goalColumn: number | undefined;
  /** Why the last action did not do what it was asked to, for people. */
  readonly notice: string | undefined;
  /** The oldest first. */
  readonly history: readonly HistoryEntry[];
  /** Where in the history the prompt is: the history's length is the draft. */
  readonly place: number;
  /** How the other places were left. The draft is among them while the history is looked at. */
  readonly drafts: ReadonlyMap<number, Draft>;
}

export const emptyPiece: Piece = { text: '', folds: [] };

const emptyDraft: Draft = { ...emptyPiece, cursor: 0, undo: [], redo: [] };

export function createEditor(history: readonly HistoryEntry[] = []): EditorState {
  return {
    ...emptyDraft,
    killed: emptyPiece,
    run: undefined,
    goalColumn: undefined,
    notice: undefined,
    history,
    place: history.length,
    drafts: new Map(),
  };
}

/** In UTF-16 code units: more than any model takes. */
export const maxTextLength: number = 2 ** 22;

/** Where the cursor can go by one key. Lines are those of the text, not of the screen. */
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
  /** As typed: letters join into steps of undo by words. A newline is `\n`. */
  | { readonly type: 'insert'; readonly text: string }
  /** One step of undo; folded if it is long. */
  | { readonly type: 'paste'; readonly text: string }
  /** What a completion does. The cursor ends behind the text. */
  | {
      readonly type: 'replace';
      readonly start: number;
      readonly end: number;
      readonly text: string;
    }
  | { readonly type: 'move'; readonly to: Target }
  /** Removes what is between the cursor and the target. */
  | { readonly type: 'erase'; readonly to: Target }
  /** The same, but yank brings it back; kills that follow each other add up. */
  | { readonly type: 'kill'; readonly to: Target }
  | { readonly type: 'yank' }
  /** A row of the screen up or down, soft wraps at `width` cells counted; beyond the first and the last, through the history. */
  | { readonly type: 'up' | 'down'; readonly width?: number | undefined }
  | { readonly type: 'undo' }
  | { readonly type: 'redo' }
  /** Another text, in one step of undo, with the cursor at its end. */
  | { readonly type: 'set'; readonly text: string }
  /** What was sent before is not sent after all: it stands before what is in the prompt. */
  | { readonly type: 'put_back'; readonly text: string }
  /** It was sent: the prompt is empty, and what was sent is the history's newest unless it begins with a space. */
  | { readonly type: 'sent' }
  /** The history was read. What is in the prompt stays. */
  | { readonly type: 'history'; readonly entries: readonly HistoryEntry[] };
