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
