import type { Key } from '../keys/key.ts';
import { edit } from './edit.ts';
import type { EditAction, EditorState, Target } from './editor-state.ts';

/** The mode of the prompt with the keys of vi, and the start of an unfinished command such as `d`. */
export interface VimState {
  readonly mode: 'insert' | 'normal';
  readonly pending: string;
}

export const vimInsert: VimState = { mode: 'insert', pending: '' };
const vimNormal: VimState = { mode: 'normal', pending: '' };

/** The editor to which the keys apply. */
interface VimEditor {
  snapshot(): { readonly state: EditorState };
  dispatch(action: EditAction): void;
}

/** The keys of vi for one prompt. They are off at first. */
export class VimKeys {
  readonly #onChange: () => void;
  #state: VimState | undefined;

  /** `onChange` is called if the mode changes. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** A hint about the normal mode. Undefined in the insert mode, and if the keys are off. */
  get hint(): string | undefined {
    if (this.#state?.mode !== 'normal') return undefined;
    return 'NORMAL: i inserts, Enter sends, /vim turns it off';
  }

  /** Turns the keys on or off. Returns true if they are on now. */
  toggle(): boolean {
    this.#state = this.#state === undefined ? vimInsert : undefined;
    this.#onChange();
    return this.#state !== undefined;
  }

  /** Applies a key. Returns true if the prompt must not handle it too. */
  press(key: Key, editor: VimEditor): boolean {
    const before = this.#state;
    if (before === undefined) return false;
    const { vim, actions, isHandled } = pressVimKey(before, key, editor.snapshot().state);
    this.#state = vim;
    for (const action of actions) editor.dispatch(action);
    if (vim.mode !== before.mode) this.#onChange();
    return isHandled;
  }
}

interface VimResult {
  readonly vim: VimState;
  readonly actions: readonly EditAction[];
  /** True if the prompt must not handle the key too. */
  readonly isHandled: boolean;
}

/**
 * Applies a key to a prompt with the keys of vi. The function is pure. The caller applies the actions. It
 * supports the common commands for moving, inserting, deleting, changing, putting and undoing.
 */
export function pressVimKey(vim: VimState, key: Key, editor: EditorState): VimResult {
  const isEscape = key.type === 'key' && key.name === 'escape';
  if (vim.mode === 'insert') {
    if (!isEscape) return { vim, actions: [], isHandled: false };
    return { vim: vimNormal, actions: moveInLine('left', editor), isHandled: true };
  }
  if (isEscape && vim.pending !== '') return { vim: vimNormal, actions: [], isHandled: true };
  // A sent or cleared prompt begins in the insert mode again.
  const isEnter = key.type === 'key' && key.name === 'enter';
  if (isEnter) return { vim: vimInsert, actions: [], isHandled: false };
  if (key.type !== 'text') return { vim: { ...vim, pending: '' }, actions: [], isHandled: false };
  return pressNormal(vim, key.text, editor);
}

/** Applies typed characters in the normal mode. Several characters can arrive together. */
function pressNormal(before: VimState, typed: string, editor: EditorState): VimResult {
  let [vim, state] = [before, editor];
  const actions: EditAction[] = [];
  const apply = (all: readonly EditAction[]) => {
    // The next character depends on the result of this one.
    for (const action of all) state = edit(state, action);
    actions.push(...all);
  };
  for (const char of typed) {
    if (vim.mode === 'insert') {
      apply([{ type: 'insert', text: char }]);
      continue;
    }
    const command = vim.pending + char;
    if (isUnfinished(command)) {
      vim = { ...vim, pending: command };
      continue;
    }
    const [, digits = '', name = ''] = /^([1-9]\d?)?(.*)$/s.exec(command) ?? [];
    vim = vimNormal;
    for (let count = Math.max(1, Number(digits)); count > 0; count--) {
      const { actions: once, inserts = false } = commandActions(name, state);
      apply(once);
      if (inserts) vim = vimInsert;
    }
  }
  return { vim, actions, isHandled: true };
}

function isUnfinished(command: string): boolean {
  return /^(?:[1-9]\d?)?[dcg]$|^[1-9]\d?$/.test(command);
}

interface Command {
  readonly actions: readonly EditAction[];
  /** True if the prompt is in the insert mode afterwards. */
  readonly inserts?: boolean | undefined;
}

const move = (to: Target): EditAction => ({ type: 'move', to });
const kill = (to: Target): EditAction => ({ type: 'kill', to });

function commandActions(name: string, editor: Pick<EditorState, 'text' | 'cursor'>): Command {
  const motion = motions.get(name);
  if (motion !== undefined) return { actions: motion };
  const fixed = commands.get(name);
  if (fixed !== undefined) return fixed;
  switch (name) {
    case 'h':
      return { actions: moveInLine('left', editor) };
    case 'l':
      return { actions: moveInLine('right', editor) };
    case 'w':
      return { actions: Array.from({ length: nextWord(editor) }, () => move('right')) };
    case 'dw': {
      const { cursor } = editor;
      const end = cursor + nextWordLength(editor);
      return { actions: [{ type: 'replace', start: cursor, end, text: '' }] };
    }
    // In an empty prompt, the first character of a command or a shell line starts the insert mode.
    case '/':
    case '!':
      return editor.text === ''
        ? { actions: [{ type: 'insert', text: name }], inserts: true }
        : { actions: [] };
    default:
      return { actions: [] };
  }
}

const motions: ReadonlyMap<string, readonly EditAction[]> = new Map([
  ['j', [{ type: 'down' }]],
  ['k', [{ type: 'up' }]],
  ['b', [move('word_left')]],
  ['e', [move('word_right')]],
  ['0', [move('line_start')]],
  ['^', [move('line_start')]],
  ['$', [move('line_end')]],
  ['gg', [move('text_start')]],
  ['G', [move('text_end')]],
]);

const wholeLine = [move('line_start'), kill('line_end')];
const newLine: EditAction = { type: 'insert', text: '\n' };

const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['i', { actions: [], inserts: true }],
  ['a', { actions: [move('right')], inserts: true }],
  ['I', { actions: [move('line_start')], inserts: true }],
  ['A', { actions: [move('line_end')], inserts: true }],
  ['o', { actions: [move('line_end'), newLine], inserts: true }],
  ['O', { actions: [move('line_start'), newLine, move('left')], inserts: true }],
  ['x', { actions: [{ type: 'erase', to: 'right' }] }],
  ['X', { actions: [{ type: 'erase', to: 'left' }] }],
  ['s', { actions: [{ type: 'erase', to: 'right' }], inserts: true }],
  ['D', { actions: [kill('line_end')] }],
  ['C', { actions: [kill('line_end')], inserts: true }],
  ['dd', { actions: [...wholeLine, { type: 'erase', to: 'right' }] }],
  ['cc', { actions: wholeLine, inserts: true }],
  ['S', { actions: wholeLine, inserts: true }],
  ['d$', { actions: [kill('line_end')] }],
  ['d0', { actions: [kill('line_start')] }],
  ['db', { actions: [kill('word_left')] }],
  ['de', { actions: [kill('word_right')] }],
  ['c$', { actions: [kill('line_end')], inserts: true }],
  ['c0', { actions: [kill('line_start')], inserts: true }],
  ['cb', { actions: [kill('word_left')], inserts: true }],
  ['cw', { actions: [kill('word_right')], inserts: true }],
  ['ce', { actions: [kill('word_right')], inserts: true }],
  ['p', { actions: [move('right'), { type: 'yank' }] }],
  ['P', { actions: [{ type: 'yank' }] }],
  ['u', { actions: [{ type: 'undo' }] }],
  ['U', { actions: [{ type: 'redo' }] }],
]);

/** Moves the cursor by one character. It stays in its line. */
function moveInLine(
  to: 'left' | 'right',
  { text, cursor }: Pick<EditorState, 'text' | 'cursor'>,
): readonly EditAction[] {
  const beside = to === 'left' ? text[cursor - 1] : text[cursor];
  return beside === undefined || beside === '\n' ? [] : [move(to)];
}

/** Returns the length of the text from the cursor to the next word, in UTF-16 units. */
function nextWordLength({ text, cursor }: Pick<EditorState, 'text' | 'cursor'>): number {
  const rest = text.slice(cursor, cursor + 10_000);
  return /^(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+)?\s*/u.exec(rest)?.[0].length ?? 0;
}

/** Returns the number of characters from the cursor to the next word. */
function nextWord(editor: Pick<EditorState, 'text' | 'cursor'>): number {
  const { text, cursor } = editor;
  return [...text.slice(cursor, cursor + nextWordLength(editor))].length;
}
