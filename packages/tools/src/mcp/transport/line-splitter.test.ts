import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineSplitter } from '../../shell/child-lines.ts';

/** Splits the bytes into chunks at the given positions. */
function cut(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const at = [0, ...cuts.map((cutAt) => cutAt % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  );
  return at.slice(1).map((to, index) => bytes.subarray(at[index], to));
}

const line = fc.string({ unit: 'grapheme' }).filter((text) => !/[\r\n]/.test(text));
const cuts = fc.array(fc.nat());

test('lines are the same for any chunks of bytes', () => {
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom('\n', '\r\n'), cuts, (lines, end, at) => {
      const splitter = new LineSplitter(10_000);
      const bytes = Buffer.from(lines.map((text) => text + end).join(''));
      expect(cut(bytes, at).flatMap((chunk) => [...splitter.push(chunk)])).toEqual(lines);
    }),
  );
});

test('a line is too long if and only if it has more bytes than the limit', () => {
  fc.assert(
    fc.property(fc.array(line), fc.integer({ min: 1, max: 20 }), cuts, (lines, limit, at) => {
      const splitter = new LineSplitter(limit);
      const read = () =>
        cut(Buffer.from(`${lines.join('\n')}\n`), at).flatMap((chunk) => [...splitter.push(chunk)]);
      const isTooLong = lines.some((text) => Buffer.byteLength(text) > limit);
      if (isTooLong) expect(read).toThrow(`more than ${limit} bytes`);
      else expect(read()).toHaveLength(Math.max(1, lines.length));
    }),
  );
});
