import fc from 'fast-check';
import { expect, test } from 'vitest';
import { add, type GrowingSet, has } from './growing-set.ts';

const steps = fc.array(fc.tuple(fc.nat(3), fc.array(fc.nat(40), { maxLength: 9 })));

test('a growing set has the values of a set, and the sets that it grew from keep theirs', () => {
  fc.assert(
    fc.property(steps, (growth) => {
      const made = [{ grown: [] as GrowingSet<number>, model: new Set<number>() }];
      for (const [back, values] of growth) {
        const from = made.at(-1 - back) ?? made[0];
        if (from === undefined) return;
        const model = new Set([...from.model, ...values]);
        const more = [...model].slice(from.model.size);
        made.push({ grown: more.reduce<GrowingSet<number>>(add, from.grown), model });
      }
      for (const { grown, model } of made) {
        expect(grown.flatMap((values) => [...values])).toEqual([...model]);
        for (let value = 0; value <= 40; value++) expect(has(grown, value)).toBe(model.has(value));
        expect(grown.map(({ size }) => size)).toEqual(powersOf(model.size));
      }
    }),
  );
});

/** Returns the powers of two with this sum, the largest one first. */
function powersOf(sum: number): readonly number[] {
  const bits = [...sum.toString(2)];
  return bits.flatMap((bit, at) => (bit === '1' ? 2 ** (bits.length - 1 - at) : []));
}
