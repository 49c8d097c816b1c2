import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineWindow, type WindowOptions } from './read-lines.ts';

const roomy = { maxLineLength: 1000, maxLength: 1_000_000, maxLineBytes: 1_000_000 };

function linesOf(text: string, options: Partial<WindowOptions> = {}, pieceLength = 1000) {
  const window = new LineWindow({ first: 1, count: 1000, ...roomy, ...options });
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += pieceLength) {
    if (!window.push(bytes.subarray(at, at + pieceLength))) break;
  }
  return window.end();
}

const anyText = fc
  .array(fc.constantFrom('a', 'ß', '😀', '\n', '\r\n', '\r', '\ufeff', ' '))
  .map((pieces) => pieces.join(''));

test('a window has the same lines as a split, for any chunks of bytes', () => {
  const few = fc.integer({ min: 1, max: 8 });
  fc.assert(
    fc.property(anyText, few, few, few, (text, first, count, pieceLength) => {
      const all = text.split('\n');
      if (all.at(-1) === '') all.pop();
      const { lines, stop, lineCount } = linesOf(text, { first, count }, pieceLength);
      const wanted = all.slice(first - 1, first - 1 + count);
      const hasNewline = (index: number) => index < text.split('\n').length - 1;
      expect(lines).toEqual(
        wanted.map((line, index) => {
          const isCrlf = line.endsWith('\r') && hasNewline(first - 1 + index);
          const ending = hasNewline(first - 1 + index) ? (isCrlf ? '\r\n' : '\n') : '';
          return { text: isCrlf ? line.slice(0, -1) : line, clippedBytes: 0, ending };
        }),
      );
      const isMore = all.length > first - 1 + count;
      expect(stop).toBe(isMore ? 'count' : undefined);
      if (!isMore) expect(lineCount).toBe(all.length);
    }),
  );
});

test('a long line is clipped between characters, and the rest is counted', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 5 }), (text, maxLineLength) => {
      const line = text.replace(/[\r\n]/g, '');
      const next = 'next';
      const [first, second] = linesOf(`${line}\n${next}`, { maxLineLength }, 3).lines;
      if (line === '') return;
      expect(line.startsWith(first?.text ?? '?')).toBe(true);
      expect(first?.text.isWellFormed()).toBe(true);
      expect(first?.text.length).toBeLessThanOrEqual(maxLineLength);
      expect(first?.text.length).toBeGreaterThan(Math.min(maxLineLength, line.length) - 2);
      const shown = Buffer.byteLength(first?.text ?? '');
      const newline = first?.clippedBytes !== 0 && first?.ending === '' ? 1 : 0;
      expect(shown + (first?.clippedBytes ?? 0)).toBe(Buffer.byteLength(line) + newline);
      expect(second?.text).toBe(next.slice(0, maxLineLength));
    }),
  );
});

test('it stops at a line that is too long, and when it has enough text', () => {
  const endless = linesOf('short\nlonger than ten\nlast', { maxLineBytes: 10 }, 3);
  expect(endless.stop).toBe('endless_line');
  expect(endless.lines.map(({ text }) => text.slice(0, 6))).toEqual(['short', 'longer']);
  const enough = linesOf('12345\n12345\n12345\n12345', { maxLength: 8 });
  expect(enough).toMatchObject({ stop: 'length', lines: { length: 2 } });
});
