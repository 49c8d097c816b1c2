import { TestClock } from '@millrace/log/suite';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { throttledUpdates } from './command-output.ts';

const pace = { intervalMs: 100, maxLength: 1000, maxTotalLength: 10_000 };

function paced(changed: Partial<typeof pace> = {}) {
  const clock = new TestClock();
  const sent: { readonly at: number; readonly text: string }[] = [];
  const start = clock.now();
  const send = (text: string) => sent.push({ at: clock.now() - start, text });
  return { clock, sent, updates: throttledUpdates(send, { ...pace, ...changed, clock }) };
}

test('the first update is sent immediately, the next after the interval with everything in between', async () => {
  const { clock, sent, updates } = paced();
  for (const text of ['a', 'b', 'c']) updates.add(text);
  expect(sent).toEqual([{ at: 0, text: 'a' }]);
  await clock.advance(100);
  await clock.advance(50);
  updates.add('d');
  await clock.advance(500);
  updates.add('e');
  updates.add('f');
  updates.end();
  expect(sent).toEqual([
    { at: 0, text: 'a' },
    { at: 100, text: 'bc' },
    { at: 200, text: 'd' },
    { at: 650, text: 'e' },
    { at: 650, text: 'f' },
  ]);
});

test('of a long update, the end is sent, with the number of omitted characters', async () => {
  const { clock, sent, updates } = paced();
  updates.add('x');
  updates.add('0'.repeat(5000));
  updates.add('tail');
  await clock.advance(100);
  expect(sent[1]?.text).toBe(`[… 4004 characters …]\n${'0'.repeat(996)}tail`);
});

test('no more updates are sent after the total limit', async () => {
  const { clock, sent, updates } = paced({ maxTotalLength: 2500 });
  for (let round = 0; round < 10; round++) {
    updates.add('y'.repeat(1000));
    await clock.advance(100);
  }
  updates.end();
  expect(sent).toHaveLength(3);
  expect(sent[2]?.text).toMatch(/y\n\[… no more is shown while it runs …\]\n$/);
});

test('no update has a broken character, and without long text the updates are the whole text', async () => {
  const piece = fc.string({ unit: fc.constantFrom('a', '😀', '\n'), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece), fc.constantFrom(7, 1000), async (pieces, maxLength) => {
      const { clock, sent, updates } = paced({ maxLength, maxTotalLength: 1e6 });
      for (const [at, text] of pieces.entries()) {
        updates.add(text);
        if (at % 3 === 0) await clock.advance(60);
      }
      updates.end();
      expect(sent.every(({ text }) => text.isWellFormed())).toBe(true);
      if (maxLength === 1000) expect(sent.map(({ text }) => text).join('')).toBe(pieces.join(''));
    }),
    { numRuns: runs(200) },
  );
});
