import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { cellWidth, isSingleCells, widestLine } from './cell-width.ts';
import { clipCells, clipLines, fitCells, wrapCells } from './clip-text.ts';
import { expandTabs, printable, printableLine } from './printable.ts';
import { parseAnsi } from './span.ts';

const bold = (text: string) => `\u001b[1m${text}\u001b[22m`;
const red = (text: string) => `\u001b[31m${text}\u001b[39m`;

/** Styled text with wide characters, marks and emoji. */
const painted = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        'a',
        'word',
        ' ',
        '  ',
        '\n',
        '漢',
        'e\u0301',
        '👩‍👩‍👧‍👦',
        '🇩🇪',
        '\u200b',
        'привет',
      ),
      fc.constantFrom(
        '\u001b[1m',
        '\u001b[22m',
        '\u001b[31m',
        '\u001b[39m',
        '\u001b[0m',
        '\u001b[38;5;9m',
      ),
      fc.constantFrom('\u001b]8;;http://a\u0007', '\u001b]8;;\u0007'),
      fc.string({
        unit: fc.constantFrom('x', '\t', '\r', '\u001b', '\u009b', 'ß', '한', '\ud83d'),
        maxLength: 3,
      }),
    ),
    { maxLength: 40 },
  )
  .map((pieces) => pieces.join(''));

/** Returns each visible character with its style. */
const looks = (text: string) =>
  [...parseAnsi(text)].flatMap(({ text: shown, style, link }) =>
    [...shown].filter((char) => char.trim() !== '').map((char) => ({ char, style, link })),
  );

describe('the width of text in cells', () => {
  test.each([
    ['', 0],
    ['abc', 3],
    ['漢字', 4],
    ['e\u0301', 1],
    ['👩‍👩‍👧‍👦', 2],
    ['\u200b', 0],
    [bold('漢'), 2],
    ['\u001b]8;;http://a\u0007ab\u001b]8;;\u0007', 2],
    ['long text of which 漢字 are wide', 32],
  ])('%j is %i', (text, width) => {
    expect(cellWidth(text)).toBe(width);
    // The second call may use the cache.
    expect(cellWidth(text)).toBe(width);
  });
});

test('characters that are taken to need one cell each do, beside any other', () => {
  const segmenter = new Intl.Segmenter();
  const all = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
  const singles = all.filter((char) => isSingleCells(char));
  expect(singles.length).toBeGreaterThan(1_000);
  expect(singles.filter((char) => stringWidth(char) !== 1)).toEqual([]);
  for (const other of singles.filter((_, index) => index % 97 === 0)) {
    const joined = singles.filter((char) => [...segmenter.segment(char + other)].length !== 2);
    expect(joined).toEqual([]);
  }
});

describe('wrapped text', () => {
  test('breaks at spaces, and cuts what is too long', () => {
    expect(wrapCells('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrapCells('abcdefgh ij', 5)).toEqual(['abcde', 'fgh', 'ij']);
    expect(wrapCells('a\n\n  b', 5)).toEqual(['a', '', '  b']);
    expect(wrapCells('', 5)).toEqual(['']);
  });

  test('keeps its colours, line by line', () => {
    expect(wrapCells(`x ${bold('one two')} y`, 5)).toEqual([
      `x ${bold('one')}`,
      `${bold('two')} y`,
    ]);
    expect(wrapCells(red(`a${bold('b')}c`), 2)).toEqual([
      `${red('a')}\u001b[31m${bold('b')}\u001b[39m`,
      red('c'),
    ]);
  });

  test('is as wide as it may be, and every character is there and looks as it did', () => {
    fc.assert(
      fc.property(painted, fc.integer({ min: 2, max: 30 }), (text, cells) => {
        const lines = wrapCells(text, cells);
        for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(cells);
        expect(looks(lines.join('\n'))).toEqual(looks(text));
      }),
    );
  });

  test('keeps what takes no room at the start of a word that is cut', () => {
    expect(wrapCells('\u200b  word', 2)).toEqual(['\u200bwo', 'rd']);
  });

  test('can be very long, in one word or of nothing', () => {
    expect(wrapCells('x'.repeat(300_000), 2)).toHaveLength(150_000);
    expect(wrapCells('\u200b'.repeat(300_000), 2)).toHaveLength(1);
  });
});

describe('clipped text', () => {
  test('ends with a mark where something was cut off', () => {
    expect(clipCells('abcdef', 6)).toBe('abcdef');
    expect(clipCells('abcdefg', 6)).toBe('abcde…');
    expect(clipCells('漢字漢字', 6)).toBe('漢字…');
    expect(clipCells(red('abcdef'), 4)).toBe(`${red('abc')}…`);
    expect(clipCells('a\nb\tc', 9)).toBe('a b   c');
    expect(clipCells('abc', 0)).toBe('');
    expect(fitCells('漢', 4)).toBe('漢  ');
  });

  test('fits, and what is there is how it began', () => {
    fc.assert(
      fc.property(painted, fc.integer({ min: 0, max: 30 }), (text, cells) => {
        const clipped = clipCells(text, cells);
        expect(cellWidth(clipped)).toBeLessThanOrEqual(cells);
        const shown = stripVTControlCharacters(clipped).replace(/…$/, '');
        const whole = [...parseAnsi(text)].map((span) => span.text).join('');
        expect(whole.replaceAll('\n', ' ').startsWith(shown)).toBe(true);
      }),
    );
  });

  test('of an endless line is made of its start', () => {
    let spans = 0;
    for (const { text } of parseAnsi('x'.repeat(2 ** 24))) {
      expect(text.length).toBeLessThan(2_000);
      if (spans++ > 2) break;
    }
    expect(clipCells('x'.repeat(2 ** 24), 4)).toBe('xxx…');
  });

  test('can be lines of which the first or the last are kept', () => {
    const lines = ['a', 'b', 'c', 'd'];
    expect(clipLines(lines, 4)).toBe(lines);
    expect(clipLines(lines, 3)).toEqual(['a', 'b', '… 2 more lines']);
    expect(clipLines(lines, 2, { keep: 'end' })).toEqual(['… 3 more lines', 'd']);
    expect(clipLines(lines, 3, { note: (hidden) => `+${hidden}` })).toEqual(['a', 'b', '+2']);
    expect(clipLines(lines, 0)).toEqual([]);
  });
});

describe('printable text', () => {
  test('shows what would control a terminal', () => {
    expect(printable('\u001b[31m\u0007\u009b\u007f\u202e\u2066\ud800')).toBe(
      '␛[31m␇\ufffd␡\ufffd\ufffd\ufffd',
    );
    expect(printable('a\r\nb\rc\td 👍')).toBe('a\nb\nc\td 👍');
    expect(printableLine('a\r')).toBe('a␍');
  });

  test('has its tabs at columns of four', () => {
    expect(expandTabs('\ta\tbcde\tf')).toBe('    a   bcde    f');
    expect(expandTabs('none\na\tb')).toBe('none\na   b');
  });
});

test('18.941: attack: an answer has a million lines', () => {
  expect(widestLine([...Array.from({ length: 1_000_000 }, () => 'x'), 'wide'])).toBe(4);
});
