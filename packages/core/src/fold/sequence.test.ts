import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  changeAll,
  emptySequence,
  findLast,
  push,
  replace,
  type Sequence,
  toArray,
} from './sequence.ts';

const numbers = fc.array(fc.nat(50), { maxLength: 200, size: 'max' });
const sequenceOf = (entries: readonly { readonly n: number }[]) =>
  entries.reduce<Sequence<{ readonly n: number }>>(push, emptySequence());
const entries = numbers.map((list) => list.map((n) => ({ n })));

test('a sequence is the list of what was pushed', () => {
  fc.assert(
    fc.property(entries, (list) => {
      expect(toArray(sequenceOf(list))).toEqual(list);
    }),
  );
});

test('an earlier end of it stays what it was', () => {
  fc.assert(
    fc.property(entries, fc.nat(), (list, at) => {
      const cut = at % (list.length + 1);
      const early = sequenceOf(list.slice(0, cut));
      list.slice(cut).reduce(push, early);
      expect(toArray(early)).toEqual(list.slice(0, cut));
    }),
  );
});

test('finding, replacing and changing give what they give on a list', () => {
  fc.assert(
    fc.property(entries, fc.nat(50), (list, wanted) => {
      const sequence = sequenceOf(list);
      const fits = ({ n }: { readonly n: number }) => n === wanted;
      const found = findLast(sequence, fits);
      expect(found).toBe(list.findLast(fits));
      const other = { n: 99 };
      const replaced = found === undefined ? sequence : replace(sequence, found, other);
      expect(toArray(replaced)).toEqual(list.map((entry) => (entry === found ? other : entry)));
      const change = ({ n }: { readonly n: number }) => (n % 2 === 0 ? undefined : { n: -n });
      const isLow = ({ n }: { readonly n: number }) => n < wanted;
      const expected = list.flatMap((entry) => (isLow(entry) ? (change(entry) ?? []) : entry));
      expect(toArray(changeAll(sequence, isLow, change))).toEqual(expected);
      expect(toArray(sequence)).toEqual(list);
    }),
  );
});

test('a change that concerns nothing gives the same sequence back', () => {
  const sequence = sequenceOf(Array.from({ length: 100 }, (_, n) => ({ n })));
  expect(
    changeAll(
      sequence,
      () => false,
      () => undefined,
    ),
  ).toBe(sequence);
});
