import { expect, test } from 'vitest';
import type { Key } from '../../input/keys/key.ts';
import { FilteredPickList } from './choice-list.ts';

const text = (typed: string): Key => ({ type: 'text', text: typed });
const backspace: Key = { type: 'key', name: 'backspace', shift: false, alt: false, ctrl: false };
const down: Key = { type: 'key', name: 'down', shift: false, alt: false, ctrl: false };

test('says its keys, is filtered by what is typed, and takes the one that is left', async () => {
  const picked: number[] = [];
  const items = ['red mill', 'blue mill', 'blue river'].map((label) => ({ label }));
  const picking = new FilteredPickList({
    ...{ title: 'Which?', items },
    onPick: async (index) => void picked.push(index),
  });
  expect(picking.list.title).toContain('Enter takes it, Esc leaves, typing finds');
  expect(picking.press(down)).toBe(false);
  for (const letter of 'BLUE ri') expect(picking.press(text(letter))).toBe(true);
  expect(picking.list.items).toEqual([{ label: 'blue river' }]);
  await picking.list.onPick(0);
  expect(picked).toEqual([2]);
  picking.press(backspace);
  picking.press(text('x'));
  expect(picking.list.items).toEqual([]);
  expect(picking.list.title).toContain('nothing has “BLUE rx” in it');
});
