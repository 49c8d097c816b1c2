import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { oneLine, printable } from './terminal-text.ts';

/** All control characters except newline and tab. */
const isControl = (char: string) => {
  const code = char.codePointAt(0) ?? 0;
  return (code < 0x20 && char !== '\n' && char !== '\t') || (code >= 0x7f && code <= 0x9f);
};

const nasty = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('é', '漢', '😀', '\u202e', '\u2066', '\u0301', '\ud83d', '\u2028'),
  ),
  maxLength: 60,
});

describe('printable text', () => {
  test('has no control characters except newline and tab, and is otherwise unchanged', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const shown = printable(text);
        expect([...shown].some(isControl)).toBe(false);
        const plain = [...text].filter((char) => !isControl(char)).join('');
        const pictures = /[\u2400-\u2421\ufffd]/g;
        expect(shown.replace(pictures, '')).toBe(plain.replace(pictures, ''));
      }),
      { numRuns: runs(500) },
    );
  });

  test('shows an escape sequence as text', () => {
    expect(printable('\u001b[31mred\u001b]0;title\u0007\u009b2J\u007f')).toBe(
      '␛[31mred␛]0;title␇\ufffd2J␡',
    );
  });

  test('keeps lines and columns, whatever ends the lines', () => {
    expect(printable('a\r\nb\tc\n')).toBe('a\nb\tc\n');
  });
});

describe('one line', () => {
  test('fits the width, and contains no reordering characters', () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 1, max: 30 }), (text, columns) => {
        const line = oneLine(text, columns);
        expect([...line].length).toBeLessThanOrEqual(
          columns + [...line.matchAll(/\p{M}/gu)].length,
        );
        expect(line).not.toMatch(/[\n\t\u2028\u202e\u2066]/);
        expect([...line].some(isControl)).toBe(false);
        expect(line.isWellFormed()).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });

  test('is cut so that the ellipsis fits', () => {
    expect(oneLine('abcdef', 6)).toBe('abcdef');
    expect(oneLine('abcdefg', 6)).toBe('abcde…');
    expect(oneLine('漢字漢字', 6)).toBe('漢字…');
    expect(oneLine('a\n\n b', 10)).toBe('a  b');
  });

  test('of a very long text is made without reading all of it', () => {
    expect(oneLine('x'.repeat(2 ** 24), 4)).toBe('xxx…');
  });
});
