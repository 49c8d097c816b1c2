import type { HistoryEntry } from './editor-state.ts';

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
