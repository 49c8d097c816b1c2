import type { CompletionItem, Completions, Menu } from '../completion/completion.ts';
import { edit } from '../editor/edit.ts';
import type { EditAction, EditorState, Target } from '../editor/editor-state.ts';
import type { Key } from '../keys/key.ts';

/** What else a key means beside what it does to the text. */
export type Effect =
  /** `sent` is the editor with the text in it. The view's is empty by then. */
  | { readonly type: 'submit' | 'queue'; readonly sent: EditorState }
  /** A text that was cleared, for the history. */
  | { readonly type: 'keep'; readonly sent: EditorState }
  /** What was said last, and is not heard yet, is wanted back. */
  | { readonly type: 'take_back' }
  | { readonly type: 'stop' }
  /** Ctrl-C where there is nothing to stop and nothing to clear. */
  | { readonly type: 'interrupt' }
  | { readonly type: 'leave' };

interface Pressed {
  readonly view: EditorView;
  readonly effect?: Effect | undefined;
}

export interface PressContext {
  readonly isBusy: boolean;
  /** Alt-Enter queues during a run. */
  readonly canQueue: boolean;
  /** Up, in an empty prompt, takes back what waits. */
  readonly canTakeBack?: boolean | undefined;
  /** Of a row of text, in cells. */
  readonly width: number;
  /** What could stand at the cursor. */
  readonly found: Completions | undefined;
}

/** What a key does. Pure: the caller does what the effect says. */
export function pressKey(before: EditorView, key: Key, context: PressContext): Pressed {
  const view = context.found === undefined ? { ...before, closedAt: undefined } : before;
  if (key.type === 'text' || key.type === 'paste') return bound(view, key);
  switch (keyId(key)) {
    case 'enter':
      return key.shift ? newline(view) : enter(view, context);
    case 'alt+enter':
      return context.isBusy && context.canQueue ? send(view, 'queue') : newline(view);
    case 'ctrl+enter':
      return newline(view);
    case 'tab':
      return key.shift ? { view } : tab(view, context);
    case 'escape':
    case 'ctrl+[':
      return leaveMode(view, context);
    case 'ctrl+c':
      return interrupt(view, context);
    case 'ctrl+d':
      return view.state.text === '' ? leave(view, context) : bound(view, key);
    case 'up':
    case 'ctrl+p':
      return vertical(view, 'up', context);
    case 'down':
    case 'ctrl+n':
      return vertical(view, 'down', context);
    default:
      return bound(view, key);
  }
}

function bound(view: EditorView, key: Key): Pressed {
  const action = boundAction(key);
  return action === undefined ? { view } : edited(view, action);
}

function edited(view: EditorView, action: EditAction): Pressed {
  return { view: withEdit(view, action) };
}

function newline(view: EditorView): Pressed {
  return edited(view, { type: 'insert', text: '\n' });
}

/** What the list offers, the end of a line that goes on, or the whole. */
function enter(view: EditorView, context: PressContext): Pressed {
  const { state } = view;
  const item = chosen(view, context);
  if (item !== undefined) {
    const { view: accepted } = accept(view, item, context);
    return item.isComplete ? send(accepted, 'submit') : { view: accepted };
  }
  const { cursor } = state;
  // Some terminals are set up to send this for Shift-Enter, and it works in all of them.
  if (cursor > 0 && state.text[cursor - 1] === '\\')
    return edited(view, { type: 'replace', start: cursor - 1, end: cursor, text: '\n' });
  return send(view, 'submit');
}

/** The item that Enter takes: none where it has been typed already. */
function chosen(view: EditorView, { found }: PressContext): CompletionItem | undefined {
  const menu = menuOf(view, found);
  const item = menu?.items[menu.selected];
  if (found === undefined || item === undefined) return undefined;
  const typed = view.state.text.slice(found.start, found.end);
  return typed === item.insert.trimEnd() ? undefined : item;
}

function accept(view: EditorView, item: CompletionItem, { found }: PressContext): Pressed {
  const { cursor } = view.state;
  const { start, end } = found ?? { start: cursor, end: cursor };
  return edited(view, { type: 'replace', start, end, text: item.insert });
}

function send(view: EditorView, type: 'submit' | 'queue'): Pressed {
  if (view.state.text.trim() === '') return { view };
  return { view: withEdit(view, { type: 'sent' }), effect: { type, sent: view.state } };
}

/** Takes what the list offers; opens it where it could be. */
function tab(view: EditorView, context: PressContext): Pressed {
  const menu = menuOf(view, context.found);
  const item = menu?.items[menu.selected];
  if (item !== undefined) return accept(view, item, context);
  return { view: { ...view, mayComplete: true, closedAt: undefined } };
}

function leaveMode(view: EditorView, { isBusy, found }: PressContext): Pressed {
  if (menuOf(view, found) !== undefined) return { view: { ...view, closedAt: found?.start } };
  return isBusy ? { view, effect: { type: 'stop' } } : { view };
}

/** The run, then the text, then the program. A text that was cleared can be had back from the history. */
function interrupt(view: EditorView, { isBusy }: PressContext): Pressed {
  if (isBusy) return { view, effect: { type: 'stop' } };
  const { state } = view;
  if (state.text === '') return { view, effect: { type: 'interrupt' } };
  return { view: withEdit(view, { type: 'sent' }), effect: { type: 'keep', sent: state } };
}

function leave(view: EditorView, { isBusy }: PressContext): Pressed {
  return isBusy ? { view } : { view, effect: { type: 'leave' } };
}

function vertical(view: EditorView, type: 'up' | 'down', context: PressContext): Pressed {
  const menu = menuOf(view, context.found);
  const isEmpty = view.state.text === '' && view.state.place === view.state.history.length;
  if (type === 'up' && isEmpty && context.canTakeBack)
    return { view, effect: { type: 'take_back' } };
  if (menu === undefined) return edited(view, { type, width: context.width });
  const { length } = menu.items;
  const selected = (menu.selected + (type === 'up' ? length - 1 : 1)) % length;
  return { view: { ...view, selected } };
}

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

function each(keys: string, action: EditAction): readonly (readonly [string, EditAction])[] {
  return keys.split(' ').map((key) => [key, action] as const);
}

const move = (keys: string, to: Target) => each(keys, { type: 'move', to });
const kill = (keys: string, to: Target) => each(keys, { type: 'kill', to });

/** As shells have them. */
const bindings: ReadonlyMap<string, EditAction> = new Map([
  ...move('left ctrl+b', 'left'),
  ...move('right ctrl+f', 'right'),
  ...move('ctrl+left alt+left alt+b', 'word_left'),
  ...move('ctrl+right alt+right alt+f', 'word_right'),
  ...move('home ctrl+a', 'line_start'),
  ...move('end ctrl+e', 'line_end'),
  ...move('ctrl+home alt+home alt+<', 'text_start'),
  ...move('ctrl+end alt+end alt+>', 'text_end'),
  ...each('backspace ctrl+h', { type: 'erase', to: 'left' }),
  ...each('delete ctrl+d', { type: 'erase', to: 'right' }),
  ...kill('ctrl+w alt+backspace ctrl+backspace', 'word_left'),
  ...kill('alt+d ctrl+delete alt+delete', 'word_right'),
  ...kill('ctrl+u', 'line_start'),
  ...kill('ctrl+k', 'line_end'),
  ...each('ctrl+y', { type: 'yank' }),
  // Terminals send one or another of these for the same keys.
  ...each('ctrl+_ ctrl+- ctrl+/', { type: 'undo' }),
  ...each('alt+_ alt+- alt+/', { type: 'redo' }),
  ...each('ctrl+j', { type: 'insert', text: '\n' }),
]);

/** What a key does to the text by itself; nothing for those that depend on more. */
function boundAction(key: Key): EditAction | undefined {
  switch (key.type) {
    case 'text':
      return { type: 'insert', text: key.text };
    case 'paste':
      return { type: 'paste', text: key.text };
    case 'key':
    case 'chord':
      return bindings.get(keyId(key));
  }
}

/** `ctrl+alt+left`, `alt+b`. Shift is left out: nothing here is told apart by it, but for Enter and Tab. */
function keyId(key: Exclude<Key, { readonly type: 'text' | 'paste' }>): string {
  const name = key.type === 'key' ? key.name : key.char;
  return `${key.ctrl ? 'ctrl+' : ''}${key.alt ? 'alt+' : ''}${name}`;
}
