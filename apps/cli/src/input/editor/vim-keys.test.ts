import { describe, expect, test } from 'vitest';
import { namedKey } from '../keys/key.ts';
import { edit } from './edit.ts';
import { createEditor, type EditorState } from './editor-state.ts';
import { pressVimKey, type VimState, vimInsert } from './vim-keys.ts';

/** Types a text, presses Esc, and then the keys one after the other. `|` marks the cursor. */
function typed(text: string, keys: string): { readonly shown: string; readonly mode: string } {
  let state: EditorState = edit(createEditor(), { type: 'set', text });
  let vim: VimState = vimInsert;
  const press = (key: Parameters<typeof pressVimKey>[1]) => {
    const result = pressVimKey(vim, key, state);
    vim = result.vim;
    if (!result.isHandled && key.type === 'text')
      state = edit(state, { type: 'insert', text: key.text });
    for (const action of result.actions) state = edit(state, action);
  };
  press(namedKey('escape'));
  for (const char of keys) press(char === '␛' ? namedKey('escape') : { type: 'text', text: char });
  const { text: now, cursor } = state;
  return { shown: `${now.slice(0, cursor)}|${now.slice(cursor)}`, mode: vim.mode };
}

describe('the keys of vi', () => {
  test.each([
    ['one two', '', 'one tw|o', 'normal'],
    ['one two', '0', '|one two', 'normal'],
    ['one two', '0w', 'one |two', 'normal'],
    ['one two three', '02w', 'one two |three', 'normal'],
    ['one two', '0dw', '|two', 'normal'],
    ['one two', '0cwnew', 'new| two', 'insert'],
    ['one two', '0de$p', ' twoone|', 'normal'],
    ['one two', 'D', 'one tw|', 'normal'],
    ['one two', '03x', '| two', 'normal'],
    ['one two', 'Aend', 'one twoend|', 'insert'],
    ['one two', 'Iat ', 'at |one two', 'insert'],
    ['one\ntwo', 'ggdd', '|two', 'normal'],
    ['one\ntwo', 'kccnew', 'new|\ntwo', 'insert'],
    ['one', 'otwo', 'one\ntwo|', 'insert'],
    ['two', 'Oone', 'one|\ntwo', 'insert'],
    ['one two', '0dwu', '|one two', 'normal'],
    ['one', 'ix␛', 'on|xe', 'normal'],
    ['one', 'd␛x', 'on|', 'normal'],
    ['one', 'qzQ', 'on|e', 'normal'],
    ['', '/', '/|', 'insert'],
  ])('%j and then %j gives %j', (text, keys, shown, mode) => {
    const result = typed(text, keys);
    expect(result.mode).toBe(mode);
    expect(result.shown.replace('|', '')).toBe(shown.replace('|', ''));
    expect(result.shown).toBe(shown);
  });

  test('characters that arrive together have the same effect', () => {
    const state = edit(createEditor(), { type: 'set', text: 'one two' });
    const key = { type: 'text', text: '0dwithree ' } as const;
    const { actions } = pressVimKey({ mode: 'normal', pending: '' }, key, state);
    expect(actions.reduce(edit, state).text).toBe('three two');
  });

  test('Enter sends from the normal mode, and the next prompt is in the insert mode', () => {
    const normal = { mode: 'normal', pending: '' } as const;
    const result = pressVimKey(normal, namedKey('enter'), createEditor());
    expect(result).toEqual({ vim: vimInsert, actions: [], isHandled: false });
  });
});
