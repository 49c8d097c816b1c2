import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editDistance, nearestNames } from './nearest-names.ts';

describe('editDistance', () => {
  test.each([
    ['', '', 0],
    ['read', 'read', 0],
    ['', 'read', 4],
    ['read', 'reads', 1],
    ['read', 'red', 1],
    ['read', 'bead', 1],
    ['read', 'Read', 1],
    ['scr', 'src', 1],
    ['kitten', 'sitting', 3],
    ['ab', 'ba', 1],
    // A swapped pair is not edited again: this takes a swap and an insertion of its own.
    ['ca', 'abc', 3],
  ])('of %j and %j is %i', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 });

  test('is symmetric, zero only for equal texts, and at most the longer length', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });

  test('of a text and the same text after one edit is 1', () => {
    fc.assert(
      fc.property(text, fc.nat(), fc.constantFrom('insert', 'remove', 'swap'), (a, nat, edit) => {
        const at = nat % (a.length + 1);
        const [head, first = '', second = '', tail] = [
          a.slice(0, at),
          a[at],
          a[at + 1],
          a.slice(at + 2),
        ];
        const edited = {
          insert: `${head}x${first}${second}${tail}`,
          remove: `${head}${second}${tail}`,
          swap: `${head}${second}${first}${tail}`,
        }[edit];
        expect(editDistance(a, edited)).toBe(a === edited ? 0 : 1);
      }),
    );
  });
});

describe('nearestNames', () => {
  const names = ['write', 'read', 'edit', 'grep', 'reader'];

  test('returns similar names, best match first', () => {
    expect(nearestNames('reed', names)).toEqual(['read', 'reader']);
    expect(nearestNames('READ', names)).toEqual(['read', 'reader']);
    expect(nearestNames('something_else', names)).toEqual([]);
    expect(nearestNames('read', [])).toEqual([]);
  });

  test('keeps the order of candidates at the same distance, and returns at most 3 by default', () => {
    const alike = ['tool4', 'tool1', 'tool3', 'tool2'];
    expect(nearestNames('tool', alike)).toEqual(['tool4', 'tool1', 'tool3']);
    expect(nearestNames('tool', new Set(alike), { most: 1 })).toEqual(['tool4']);
  });

  test('uses the distance and the limit of the caller', () => {
    const distance = (name: string, candidate: string) => Math.abs(name.length - candidate.length);
    const isNear = (away: number) => away === 0;
    expect(nearestNames('xxxx', names, { distance, isNear })).toEqual(['read', 'edit', 'grep']);
    const seen: string[] = [];
    nearestNames('x', names, { isNear: (_away, candidate) => seen.push(candidate) > 0 });
    expect(seen).toEqual(names);
  });

  test('compares the beginning of very long names only', () => {
    const long = 'a'.repeat(1_000_000);
    expect(nearestNames(`${long}b`, [`${long}c`])).toEqual([`${long}c`]);
  });
});
