import fc from 'fast-check';
import { expect, test } from 'vitest';
import { appendTail, emptyTail, lastLines } from './tail.ts';

const line = fc.string({ maxLength: 200 }).map((text) => text.replaceAll('\n', ''));

test('the last lines are those of the whole text, and none before them is forgotten in the count', () => {
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 400 }),
      fc.integer({ min: 1, max: 6 }),
      (lines, count) => {
        const pieces = lines.map((text) => `${text}\n`);
        const tail = pieces.reduce(appendTail, emptyTail);
        const shown = lastLines(tail, count);
        const wanted = lines.slice(-count).map((text) => text.replace(/\r$/, ''));
        expect(shown.lines.map((text) => text.replace(/\r$/, ''))).toEqual(
          lines.length === 0 ? [] : wanted,
        );
        expect(shown.above + shown.lines.length).toBe(lines.length);
      },
    ),
  );
});

test('however much comes, little is kept', () => {
  let tail = emptyTail;
  for (let index = 0; index < 1000; index++) {
    tail = appendTail(tail, '0123456789'.repeat(100));
    expect(tail.text.length).toBeLessThan(10_000);
  }
});
