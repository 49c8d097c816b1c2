import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { firstOccurrence, occurrencesOf } from './find-text.ts';

/** Finds all occurrences by testing each position. */
function plain(text: string, wanted: string): readonly number[] {
  const starts = Array.from(text, (_, at) => at);
  return starts.filter((at) => text.startsWith(wanted, at));
}

test('all occurrences are found, for texts of any length and similarity', () => {
  const letter = fc.constantFrom('a', 'a', 'a', 'b', '\n', '\ud83d');
  const piece = fc.array(letter, { minLength: 1, maxLength: 8 }).map((all) => all.join(''));
  const wanted = fc
    .tuple(piece, fc.integer({ min: 1, max: 60 }), piece)
    .map(([start, times, end]) => start.repeat(times) + end);
  const both = fc
    .tuple(fc.array(piece, { maxLength: 5 }), wanted, fc.nat(3))
    .map(([pieces, one, times]) => [pieces.join(one.repeat(times)) + one, one] as const);
  let long = 0;
  fc.assert(
    fc.property(both, ([text, wanted]) => {
      const places = plain(text, wanted);
      expect([...occurrencesOf(text, wanted)]).toEqual(places);
      expect(firstOccurrence(text, wanted)).toBe(places[0] ?? -1);
      expect(firstOccurrence(text, `${wanted}c`)).toBe(-1);
      if (wanted.length > 64 && places.length > 1) long++;
    }),
  );
  if (isFull) expect(long).toBeGreaterThan(10);
});

test('a text of a million equal characters is searched quickly', () => {
  // `indexOf` would take hours and could not be stopped.
  const [text, half] = ['a'.repeat(4_000_000), 'a'.repeat(1_000_000)];
  expect(firstOccurrence(text, `${half}b${half}`)).toBe(-1);
  expect(firstOccurrence(`${text}b${half}`, `${half}b${half}`)).toBe(3_000_000);
});
