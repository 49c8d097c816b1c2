import type { Completions } from './completion.ts';
import { edit } from './edit.ts';
import type { EditAction } from './edit-action.ts';
import type { EditorState } from './editor-state.ts';
import type { Menu } from './menu.ts';

/** The editor and its completion list. */
export interface EditorView {
  readonly state: EditorState;
  /** Somebody is typing: a list may be shown. It is not where the cursor only passes, or history is looked at. */
  readonly mayComplete: boolean;
  readonly selected: number;
  /** Where the list began that was closed. It stays closed while that is typed on. */
  readonly closedAt: number | undefined;
}

export function createView(state: EditorState): EditorView {
  return { state, mayComplete: false, selected: 0, closedAt: undefined };
}

/** The list that is open. */
export function menuOf(view: EditorView, found: Completions | undefined): Menu | undefined {
  if (found === undefined || !view.mayComplete || view.closedAt === found.start) return undefined;
  return { items: found.items, selected: Math.min(view.selected, found.items.length - 1) };
}

/** After an edit. What was chosen was chosen among other items. */
export function withEdit(view: EditorView, action: EditAction): EditorView {
  const state = edit(view.state, action);
  const isTyping = action.type === 'insert' || action.type === 'erase' || action.type === 'replace';
  const closedAt = isTyping ? view.closedAt : undefined;
  return { state, mayComplete: isTyping, selected: 0, closedAt };
}
