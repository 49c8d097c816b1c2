import { expect, test } from 'vitest';
import { sideText, splitTexts } from './task-diff.ts';

test.each([
  ['It rains today', 'It snows today', 'rains', 'snows'],
  ['same', 'same', '', ''],
  ['', 'new', '', 'new'],
  ['Oslo is cold', 'Oslo is colder', 'cold', 'colder'],
  ['a b', 'a b c', '', ' c'],
  ['😀 x', '😁 x', '😀', '😁'],
])('%j and %j differ in %j and %j', (a, b, changedA, changedB) => {
  const split = splitTexts(a, b);
  expect([split.a.changed, split.b.changed]).toEqual([changedA, changedB]);
  expect(split.a.before + split.a.changed + split.a.after).toBe(a);
  expect(split.b.before + split.b.changed + split.b.after).toBe(b);
});

test('the text of a side is its text, its value or nothing', () => {
  const side = { offset: 1, type: 'commit_part' };
  expect(sideText({ ...side, text: { text: 'Hi', start: 0, length: 2 } })).toBe('Hi');
  expect(sideText({ ...side, value: { model: 'm' } })).toBe('{\n  "model": "m"\n}');
  expect(sideText(undefined)).toBe('');
});
