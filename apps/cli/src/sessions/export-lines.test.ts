import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { collect } from '../testing/sessions.ts';
import { LineCursor, readLines } from './export-lines.ts';

const line = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '"', ' ', '\u2028') });

test('the lines of a stream are those of its text, wherever its bytes are cut', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(line),
      fc.constantFrom('\n', '\r\n'),
      sizes,
      async (all, end, cuts) => {
        const bytes = Buffer.from(all.map((one) => `${one}${end}`).join(''));
        const chunks: Uint8Array[] = [];
        for (let at = 0, cut = 0; at < bytes.length; cut++) {
          const size = cuts[cut % cuts.length] ?? 1;
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(await collect(readLines(Readable.from(chunks)))).toEqual(all);
      },
    ),
  );
});

test('a last line need not end', async () => {
  expect(await collect(readLines(Readable.from([Buffer.from('a\nb')])))).toEqual(['a', 'b']);
});

test('a cursor hands lines to one reader after the other, and counts them', async () => {
  const cursor = new LineCursor(Readable.from(['1', '2', 'a', '3']));
  const isNumber = (text: string) => /\d/.test(text);
  expect(await collect(cursor.takeWhile(isNumber))).toEqual(['1', '2']);
  expect([cursor.number, await cursor.peek()]).toEqual([2, 'a']);
  expect(await collect(cursor.takeWhile((text) => !isNumber(text)))).toEqual(['a']);
  expect(await collect(cursor.takeWhile(isNumber))).toEqual(['3']);
  expect(await cursor.peek()).toBeUndefined();
});
