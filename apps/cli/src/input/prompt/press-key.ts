import type { CompletionItem, Completions, Menu } from '../completion/completion.ts';
import { editFrom } from '../editor/edit.ts';
import type { EditAction, EditorState, Target } from '../editor/editor-state.ts';
import type { Key } from '../keys/key.ts';

/** An action that the caller must perform after a key. It is in addition to the edit. */
export type Effect =
  /**
   * Sends or queues a message. `sent` is the editor state with the text. The prompt in the new view
   * is already empty.
   */
  | { readonly type: 'submit' | 'queue'; readonly sent: EditorState }
  /** Adds a text that the user cleared to the history. */
  | { readonly type: 'keep'; readonly sent: EditorState }
  /** Withdraws the last queued message. */
  | { readonly type: 'take_back' }
  | { readonly type: 'stop' }
  /** Ctrl-C while idle with an empty prompt. */
  | { readonly type: 'interrupt' }
  /** Esc while idle with an empty prompt. */
  | { readonly type: 'escape' }
  | { readonly type: 'leave' };

interface KeyResult {
  readonly view: EditorView;
  readonly effect?: Effect | undefined;
}

export interface PressContext {
  readonly isBusy: boolean;
  /** True if Alt-Enter queues a message. This is only possible during a run. */
  readonly canQueue: boolean;
  /** True if Up in an empty prompt withdraws a queued message. */
  readonly canTakeBack?: boolean | undefined;
  /** Width of a text row in cells. */
  readonly width: number;
  /** False if the key arrived together with others, for example in a paste that the terminal did not mark. Default: true. */
  readonly isOwn?: boolean | undefined;
  /** The possible completions at the cursor. */
  readonly completions: Completions | undefined;
}

/** Applies a key. The function is pure. The caller performs the effect. */
export function pressKey(before: EditorView, key: Key, context: PressContext): KeyResult {
  const view = context.completions === undefined ? { ...before, closedAt: undefined } : before;
  if (key.type === 'text' || key.type === 'paste') return applyBinding(view, key, context);
  switch (keyId(key)) {
    case 'enter':
      return key.shift ? newline(view, context) : enter(view, context);
    case 'alt+enter':
      return context.isBusy && context.canQueue ? send(view, 'queue') : newline(view, context);
    case 'ctrl+enter':
      return newline(view, context);
    case 'tab':
      return key.shift ? { view } : tab(view, context);
    case 'escape':
    case 'ctrl+[':
      return closeMenuOrStop(view, context);
    case 'ctrl+c':
      return interrupt(view, context);
    case 'ctrl+d':
      return view.state.text === '' ? leave(view, context) : applyBinding(view, key, context);
    case 'up':
    case 'ctrl+p':
      return moveVertically(view, 'up', context);
    case 'down':
    case 'ctrl+n':
      return moveVertically(view, 'down', context);
    default:
      return applyBinding(view, key, context);
  }
}

function applyBinding(view: EditorView, key: Key, context: PressContext): KeyResult {
  const action = boundAction(key);
  return action === undefined ? { view } : applyEdit(view, action, context);
}

function applyEdit(view: EditorView, action: EditAction, { isOwn }: PressContext): KeyResult {
  return { view: withEdit(view, action, isOwn) };
}

function newline(view: EditorView, context: PressContext): KeyResult {
  return applyEdit(view, { type: 'insert', text: '\n' }, context);
}

/**
 * Handles Enter. It accepts the selected completion, adds a line after a backslash, or sends the
 * prompt.
 */
function enter(view: EditorView, context: PressContext): KeyResult {
  const { state } = view;
  const item = itemForEnter(view, context);
  if (item !== undefined) {
    const { view: accepted } = accept(view, item, context);
    return item.isComplete ? send(accepted, 'submit') : { view: accepted };
  }
  const { cursor } = state;
  // Some terminals send a backslash and Enter for Shift-Enter. A user can also type these keys.
  if (cursor > 0 && state.text[cursor - 1] === '\\')
    return applyEdit(
      view,
      { type: 'replace', start: cursor - 1, end: cursor, text: '\n' },
      context,
    );
  return send(view, 'submit');
}

/**
 * Returns the completion item that Enter accepts. Returns undefined if the user has already typed
 * the whole item.
 */
function itemForEnter(view: EditorView, { completions }: PressContext): CompletionItem | undefined {
  const menu = menuOf(view, completions);
  const item = menu?.items[menu.selected];
  if (completions === undefined || item === undefined) return undefined;
  const typed = view.state.text.slice(completions.start, completions.end);
  return typed === item.insert.trimEnd() ? undefined : item;
}

function accept(view: EditorView, item: CompletionItem, context: PressContext): KeyResult {
  const { cursor } = view.state;
  const { start, end } = context.completions ?? { start: cursor, end: cursor };
  return applyEdit(view, { type: 'replace', start, end, text: item.insert }, context);
}

function send(view: EditorView, type: 'submit' | 'queue'): KeyResult {
  if (view.state.text.trim() === '') return { view };
  return { view: withEdit(view, { type: 'sent' }), effect: { type, sent: view.state } };
}

/** Handles Tab. It accepts the selected item, or opens the list. */
function tab(view: EditorView, context: PressContext): KeyResult {
  const menu = menuOf(view, context.completions);
  const item = menu?.items[menu.selected];
  if (item !== undefined) return accept(view, item, context);
  return { view: { ...view, mayComplete: true, closedAt: undefined } };
}

function closeMenuOrStop(view: EditorView, { isBusy, completions }: PressContext): KeyResult {
  if (menuOf(view, completions) !== undefined)
    return { view: { ...view, closedAt: completions?.start } };
  if (isBusy) return { view, effect: { type: 'stop' } };
  return view.state.text === '' ? { view, effect: { type: 'escape' } } : { view };
}

/**
 * Handles Ctrl-C. It stops the run, clears the text, or leaves the program. The history keeps a
 * cleared text.
 */
function interrupt(view: EditorView, { isBusy }: PressContext): KeyResult {
  if (isBusy) return { view, effect: { type: 'stop' } };
  const { state } = view;
  if (state.text === '') return { view, effect: { type: 'interrupt' } };
  return { view: withEdit(view, { type: 'sent' }), effect: { type: 'keep', sent: state } };
}

function leave(view: EditorView, { isBusy }: PressContext): KeyResult {
  return isBusy ? { view } : { view, effect: { type: 'leave' } };
}

function moveVertically(view: EditorView, type: 'up' | 'down', context: PressContext): KeyResult {
  const menu = menuOf(view, context.completions);
  const isEmpty = view.state.text === '' && view.state.historyIndex === view.state.history.length;
  if (type === 'up' && isEmpty && context.canTakeBack)
    return { view, effect: { type: 'take_back' } };
  if (menu === undefined) return applyEdit(view, { type, width: context.width }, context);
  const { length } = menu.items;
  const selected = (menu.selected + (type === 'up' ? length - 1 : 1)) % length;
  return { view: { ...view, selected } };
}

/** The editor and its completion list. */
export interface EditorView {
  readonly state: EditorState;
  /**
   * True after the user typed, so that the list can open. False after cursor moves and history
   * changes.
   */
  readonly mayComplete: boolean;
  readonly selected: number;
  /**
   * The start position of the list that the user closed. The list stays closed while the user types
   * more at this position.
   */
  readonly closedAt: number | undefined;
}

export function createView(state: EditorState): EditorView {
  return { state, mayComplete: false, selected: 0, closedAt: undefined };
}

/** Returns the completion list if it is open. */
export function menuOf(view: EditorView, completions: Completions | undefined): Menu | undefined {
  if (completions === undefined || !view.mayComplete || view.closedAt === completions.start)
    return undefined;
  return {
    items: completions.items,
    selected: Math.min(view.selected, completions.items.length - 1),
  };
}

/** Applies an edit and resets the selection, because the items change. `isOwn` is a parameter of `editFrom`. */
export function withEdit(view: EditorView, action: EditAction, isOwn = true): EditorView {
  const state = editFrom(view.state, action, isOwn);
  const isTyping = action.type === 'insert' || action.type === 'erase' || action.type === 'replace';
  const closedAt = isTyping ? view.closedAt : undefined;
  return { state, mayComplete: isTyping, selected: 0, closedAt };
}

function bindKeys(keys: string, action: EditAction): readonly (readonly [string, EditAction])[] {
  return keys.split(' ').map((key) => [key, action] as const);
}

const move = (keys: string, to: Target) => bindKeys(keys, { type: 'move', to });
const kill = (keys: string, to: Target) => bindKeys(keys, { type: 'kill', to });

/** The usual key bindings of shells. */
const bindings: ReadonlyMap<string, EditAction> = new Map([
  ...move('left ctrl+b', 'left'),
  ...move('right ctrl+f', 'right'),
  ...move('ctrl+left alt+left alt+b', 'word_left'),
  ...move('ctrl+right alt+right alt+f', 'word_right'),
  ...move('home ctrl+a', 'line_start'),
  ...move('end ctrl+e', 'line_end'),
  ...move('ctrl+home alt+home alt+<', 'text_start'),
  ...move('ctrl+end alt+end alt+>', 'text_end'),
  ...bindKeys('backspace ctrl+h', { type: 'erase', to: 'left' }),
  ...bindKeys('delete ctrl+d', { type: 'erase', to: 'right' }),
  ...kill('ctrl+w alt+backspace ctrl+backspace', 'word_left'),
  ...kill('alt+d ctrl+delete alt+delete', 'word_right'),
  ...kill('ctrl+u', 'line_start'),
  ...kill('ctrl+k', 'line_end'),
  ...bindKeys('ctrl+y', { type: 'yank' }),
  // Terminals send different codes for the same key, so several codes are bound to undo.
  ...bindKeys('ctrl+_ ctrl+- ctrl+/', { type: 'undo' }),
  ...bindKeys('alt+_ alt+- alt+/', { type: 'redo' }),
  ...bindKeys('ctrl+j', { type: 'insert', text: '\n' }),
]);

/** Further keys of the chat, and keys that terminals send for Enter, Tab and Esc. */
const otherKeys: ReadonlySet<string> = new Set(
  [
    'ctrl+c ctrl+d ctrl+g ctrl+i ctrl+l ctrl+m ctrl+n ctrl+p ctrl+r ctrl+t ctrl+v ctrl+z',
    'ctrl+3 ctrl+8',
  ].flatMap((keys) => keys.split(' ')),
);

/** Returns true if the chat uses a key such as `ctrl+r`, so that an extension cannot have it. */
export function isUsedKey(id: string): boolean {
  return bindings.has(id) || otherKeys.has(id);
}

/**
 * Returns the edit that is bound to a key. Returns undefined if the effect of the key also depends
 * on other state.
 */
function boundAction(key: Key): EditAction | undefined {
  switch (key.type) {
    case 'text':
      return { type: 'insert', text: key.text, isWhole: key.isWhole };
    case 'paste':
      return { type: 'paste', text: key.text, isWhole: key.isWhole };
    case 'key':
    case 'chord':
      return bindings.get(keyId(key));
  }
}

/**
 * Returns an id such as `ctrl+alt+left` or `alt+b`. It does not contain Shift, because Shift
 * matters only for Enter and Tab.
 */
export function keyId(key: Exclude<Key, { readonly type: 'text' | 'paste' }>): string {
  const name = key.type === 'key' ? key.name : key.char;
  return `${key.ctrl ? 'ctrl+' : ''}${key.alt ? 'alt+' : ''}${name}`;
}
