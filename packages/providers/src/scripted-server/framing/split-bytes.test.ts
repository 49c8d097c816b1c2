import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ScriptError } from '../script-error.ts';
import { joinBytes, splitAt, splitEvery } from './split-bytes.ts';

const bytes = fc.uint8Array({ maxLength: 40 });

describe('splitAt', () => {
  test('cuts exactly at the offsets, in any order', () => {
    const pieces = splitAt(Uint8Array.of(1, 2, 3, 4, 5), [4, 1]);
    expect(pieces).toEqual([Uint8Array.of(1), Uint8Array.of(2, 3, 4), Uint8Array.of(5)]);
  });

  test('makes no empty piece and loses no byte', () => {
    const split = bytes.chain((all) =>
      fc.tuple(fc.constant(all), fc.array(fc.nat({ max: all.length }))),
    );
    fc.assert(
      fc.property(split, ([all, offsets]) => {
        const pieces = splitAt(all, offsets);
        expect(joinBytes(pieces)).toEqual(all);
        expect(pieces.every((piece) => piece.length > 0)).toBe(true);
        const inner = offsets.filter((offset) => offset > 0 && offset < all.length);
        expect(pieces.length).toBe(all.length === 0 ? 0 : new Set(inner).size + 1);
      }),
    );
  });

  test.each([-1, 3, 0.5, Number.NaN])('refuses the offset %d in two bytes', (offset) => {
    expect(() => splitAt(Uint8Array.of(1, 2), [offset])).toThrow(ScriptError);
  });
});

describe('splitEvery', () => {
  test('makes pieces of one length, the last one of the rest', () => {
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 50 }), (all, length) => {
        const pieces = splitEvery(all, length);
        expect(joinBytes(pieces)).toEqual(all);
        expect(pieces.slice(0, -1).every((piece) => piece.length === length)).toBe(true);
        expect(pieces.every((piece) => piece.length > 0 && piece.length <= length)).toBe(true);
      }),
    );
  });

  test.each([0, -1, 1.5])('refuses the length %d', (length) => {
    expect(() => splitEvery(Uint8Array.of(1, 2), length)).toThrow('whole number from 1');
  });
});
