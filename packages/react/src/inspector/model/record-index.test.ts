import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recordedRun } from '../../../../server/src/testing/recorded-run.ts';
import { numberedRecords } from '../../testing/records.ts';
import { includesSorted, MatchIndex } from './record-index.ts';

const records = numberedRecords(recordedRun(3));

test('finds the same matches for growing and shrinking counts', () => {
  const count = fc.nat(records.length);
  fc.assert(
    fc.property(fc.array(count, { minLength: 1, maxLength: 20 }), fc.nat(300), (counts, limit) => {
      const indexes = new MatchIndex(records, ({ fact }) => fact !== undefined, limit);
      for (const upTo of counts) {
        const all = records.slice(0, upTo).flatMap(({ fact }, at) => (fact ? [at] : []));
        expect(indexes.upTo(upTo)).toEqual(all.slice(0, limit));
      }
    }),
  );
});

test('returns the same array if nothing changed', () => {
  const isFirst = ({ offset }: { readonly offset: number }) => offset === 1;
  const indexes = new MatchIndex(records, isFirst);
  expect(indexes.upTo(5)).toBe(indexes.upTo(records.length));
});

test('finds an index in a sorted array', () => {
  const indexes = [1, 4, 9];
  expect([0, 1, 2, 4, 8, 9, 10].filter((place) => includesSorted(indexes, place))).toEqual(indexes);
});
