import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineBuffer } from './sse-reader.ts';

const pieces = fc.array(
  fc.string({ unit: fc.constantFrom('a', 'é', '\n', '\r', '\r\n'), maxLength: 12 }),
  { maxLength: 12 },
);

function takeAll(texts: readonly string[], maxLength: number) {
  const buffer = new LineBuffer(maxLength);
  let taken = '';
  for (const text of texts) {
    const lines = buffer.take(text);
    expect(lines === '' || lines.endsWith('\n')).toBe(true);
    taken += lines;
    if (buffer.isTooLong) break;
  }
  return { taken, isTooLong: buffer.isTooLong };
}

describe('lines', () => {
  test('are the same however the text is cut', () => {
    fc.assert(
      fc.property(pieces, fc.nat(8), (texts, maxLength) => {
        const whole = texts.join('');
        const all = whole.replace(/\r\n?/g, '\n').split('\n');
        const long = all.findIndex((line) => line.length > maxLength);
        const kept = all.slice(0, long < 0 ? -1 : long);
        const expected = {
          taken: kept.map((line) => `${line}\n`).join(''),
          isTooLong: long >= 0,
        };
        expect(takeAll(texts, maxLength)).toEqual(expected);
        expect(takeAll([whole], maxLength)).toEqual(expected);
        expect(takeAll([...whole], maxLength)).toEqual(expected);
      }),
    );
  });

  test('are emitted as soon as they end, with CR or not', () => {
    const buffer = new LineBuffer(10);
    expect(buffer.take('a\r')).toBe('a\n');
    expect(buffer.take('')).toBe('');
    expect(buffer.take('\nb\r')).toBe('b\n');
    expect(buffer.take('\r')).toBe('\n');
    expect(buffer.take('\n')).toBe('');
    expect(buffer.take('c')).toBe('');
    expect(buffer.take('\n')).toBe('c\n');
  });
});
