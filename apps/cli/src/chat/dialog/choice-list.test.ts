import { expect, test } from 'vitest';
import type { Key } from '../../input/keys/key.ts';
import { FilteredPickList } from './choice-list.ts';

const text = (typed: string): Key => ({ type: 'text', text: typed });
const backspace: Key = { type: 'key', name: 'backspace', shift: false, alt: false, ctrl: false };
const down: Key = { type: 'key', name: 'down', shift: false, alt: false, ctrl: false };

test('shows its keys, is filtered by typing, and selects the remaining item', async () => {
  const picked: number[] = [];
  const items = ['red order', 'blue order', 'blue refund'].map((label) => ({ label }));
  const picking = new FilteredPickList({
    ...{ title: 'Which?', items },
    onPick: async (index) => void picked.push(index),
  });
  expect(picking.list.hint).toBe('Enter selects, Esc cancels, typing filters');
  expect(picking.press(down)).toBe(false);
  for (const letter of 'BLUE re') expect(picking.press(text(letter))).toBe(true);
  expect(picking.list.items).toEqual([{ label: 'blue refund' }]);
  await picking.list.onPick(0);
  expect(picked).toEqual([2]);
  picking.press(backspace);
  picking.press(text('x'));
  expect(picking.list.items).toEqual([]);
  expect(picking.list.hint).toBe('no match for “BLUE rx”');
});
