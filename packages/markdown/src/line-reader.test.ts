import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expandTabs, fromColumn, LineReader, type SourceLine } from './line-reader.ts';
import { splitAt } from './testing/random-markdown.ts';

function read(chunks: readonly string[]): readonly SourceLine[] {
  const reader = new LineReader();
  return [...chunks.flatMap((chunk) => [...reader.push(chunk)]), ...reader.end()];
}

const pieces = fc.constantFrom(
  'a',
  '',
  '\n',
  '\r',
  '\r\n',
  '😀',
  '\ud83d',
  '\ude00',
  '\u001b',
  'é',
);
const text = fc.array(pieces, { maxLength: 30 }).map((chosen) => chosen.join(''));

describe('lines', () => {
  test('are the same however the text is cut, even within a line end or a character', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat()), (source, cuts) => {
        const lines = read([source]);
        expect(read(splitAt(source, cuts))).toEqual(lines);
        const expected = source.toWellFormed().split(/\r\n|\r|\n/);
        if (expected.at(-1) === '') expected.pop();
        expect(lines.map((line) => line.text)).toEqual(expected);
      }),
    );
  });

  test('are shown while they are open', () => {
    const reader = new LineReader();
    expect(reader.open).toBeUndefined();
    expect([...reader.push('ab')]).toEqual([]);
    expect(reader.open).toEqual({ text: 'ab', isRest: false });
    expect([...reader.push('\r')]).toEqual([]);
    expect([...reader.push('\nc')]).toEqual([{ text: 'ab', isRest: false }]);
    expect(reader.open).toEqual({ text: 'c', isRest: false });
  });

  test('that are long come in pieces without losing or cutting a character', () => {
    const long = `${'x'.repeat(16_383)}😀${'y'.repeat(40_000)}`;
    const lines = read([`${long}\nnext`]);
    expect(lines.map(({ isRest }) => isRest)).toEqual([false, true, true, true, false]);
    expect(
      lines
        .slice(0, -1)
        .map((line) => line.text)
        .join(''),
    ).toBe(long);
    expect(lines.every((line) => line.text.isWellFormed())).toBe(true);
    expect(read([...long].concat('\nnext'))).toEqual(lines);
  });
});

describe('the end of a line from a column on', () => {
  const line = fc.array(fc.constantFrom('a', ' ', '\t', '- '), { maxLength: 12 });

  test('keeps its tabs and starts at that column', () => {
    fc.assert(
      fc.property(line, fc.nat(24), (parts, at) => {
        const source = parts.join('');
        const columns = expandTabs(source);
        const column = Math.min(at, columns.length);
        const end = fromColumn(source, column);
        expect(end.replaceAll(/[ \t]/g, '')).toBe(columns.slice(column).replaceAll(' ', ''));
        const indent = /^ */.exec(columns.slice(column))?.[0];
        expect(expandTabs(/^[ \t]*/.exec(end)?.[0] ?? '')).toBe(indent);
        if (column === 0) expect(end).toBe(source);
      }),
    );
  });

  test('has spaces for the part of a tab after the column', () => {
    expect(fromColumn('\t\ta\tb', 4)).toBe('\ta\tb');
    expect(fromColumn('\t\ta\tb', 2)).toBe('      a\tb');
    expect(fromColumn('  \ta', 2)).toBe('  a');
  });
});
