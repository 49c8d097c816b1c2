import fc from 'fast-check';
import { expect, test } from 'vitest';
import { topScored } from './fuzzy-search.ts';

test('topScored returns the first items of a stable sort', () => {
  const scored = fc.array(fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }));
  fc.assert(
    fc.property(scored, fc.integer({ min: 1, max: 10 }), (scores, count) => {
      const all = scores.map((score, index) => ({ score, index }));
      const fitting = all.filter(({ score }) => score !== undefined);
      const sorted = fitting.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0));
      expect(topScored(all, ({ score }) => score, count)).toEqual(sorted.slice(0, count));
    }),
  );
});
