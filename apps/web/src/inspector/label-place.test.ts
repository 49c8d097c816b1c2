import fc from 'fast-check';
import { expect, test } from 'vitest';
import { labelPlace } from './label-place.ts';

test('a label is in a wide bar, and beside a narrow one where there is room', () => {
  expect(labelPlace(10, 90)).toEqual({ left: '10%' });
  expect(labelPlace(10, 12)).toEqual({ left: '12%' });
  expect(labelPlace(90, 100)).toEqual({ right: '10%' });
  expect(labelPlace(-500, 900)).toEqual({ left: '0%' });
});

test('it has a third of the row for itself, and does not begin or end in a bar that is narrower', () => {
  const ends = fc.tuple(fc.nat(100), fc.nat(100)).map((pair) => pair.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(ends, ([from = 0, to = 0]) => {
      fc.pre(from < to);
      const { left, right } = labelPlace(from, to);
      const isIn = left === `${from}%`;
      const room = isIn ? to - from : right === undefined ? 100 - to : from;
      expect(room).toBeGreaterThanOrEqual(33);
      expect(isIn || left === `${to}%` || right === `${100 - from}%`).toBe(true);
    }),
  );
});
