import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cellWidth } from '../cells/cell-width.ts';
import { plainTheme } from '../theme/theme.ts';
import { markdownToAnsi } from './markdown-renderer.ts';
import { columnWidths } from './render-table.ts';

const shown = (text: string, width: number) => markdownToAnsi(text, { theme: plainTheme, width });

describe('a table', () => {
  test('has its columns aligned as it says', () => {
    expect(shown('| a | bb | c |\n|:-|:-:|-:|\n| 1 | 2 | 3 |\n| long | x | 44 |', 40)).toBe(
      ['a    │ bb │  c', '─────┼────┼───', '1    │ 2  │  3', 'long │ x  │ 44'].join('\n'),
    );
  });

  test('takes rows that are short, long, or have pipes and marks in them', () => {
    expect(shown('a|b\n-|-\n1\n1|2|3\n`x\\|y`|**z**', 40)).toBe(
      ['a     │ b', '──────┼──────', '1     │', '1     │ 2 | 3', '`x|y` │ z'].join('\n'),
    );
  });

  test('is wrapped where it is too wide, with its rows apart', () => {
    expect(shown('| a | b |\n|-|-|\n| one | two three |\n| four | 漢字漢字 |', 12)).toBe(
      [
        'a    │ b',
        '─────┼──────',
        'one  │ two',
        '     │ three',
        '─────┼──────',
        'four │ 漢字',
        '     │ 漢字',
      ].join('\n'),
    );
  });

  test('is shown as records where even that is too wide', () => {
    expect(shown('| name | size |\n|-|-|\n| alphabet | 1 |\n| beta | 22 |', 10)).toBe(
      ['name:', 'alphabet', 'size: 1', '───', 'name: beta', 'size: 22'].join('\n'),
    );
  });

  test('ends where the paragraph before it and the text after it are', () => {
    expect(shown('text\na|b\n-|-\n1|2\n\nend', 40)).toBe('text\n\na │ b\n──┼──\n1 │ 2\n\nend');
  });

  test('needs a head with as many cells as the line under it', () => {
    expect(shown('a|b|c\n-|-', 40)).toBe('a|b|c\n-|-');
    expect(shown(`${'a|'.repeat(40)}\n${'-|'.repeat(40)}`, 400)).toContain('-|-|');
  });

  test('is never wider than there is room, whatever is in it', () => {
    const cell = fc.constantFrom(
      'a',
      'two words',
      'x'.repeat(30),
      '漢字漢字',
      '',
      '`c`',
      '👍 ok',
      'a<br>bb',
    );
    const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }), { maxLength: 5 });
    fc.assert(
      fc.property(
        rows,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 4, max: 80 }),
        (body, columns, width) => {
          const head = Array.from({ length: columns }, (_, index) => `head ${index}`).join('|');
          const table = [head, '-|'.repeat(columns), ...body.map((row) => `|${row.join('|')}|`)];
          for (const line of shown(table.join('\n'), width).split('\n')) {
            expect(cellWidth(line)).toBeLessThanOrEqual(width);
          }
        },
      ),
    );
  });
});

describe('the widths of columns', () => {
  const column = fc
    .tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 60 }))
    .map(([a, b]) => ({ wanted: Math.max(a, b), word: Math.min(a, b) }));

  test('use the room they have, take no more than they want and keep words whole', () => {
    fc.assert(
      fc.property(
        fc.array(column, { minLength: 1, maxLength: 8 }),
        fc.nat(200),
        (columns, room) => {
          const widths = columnWidths(columns, room);
          const wanted = columns.reduce((total, each) => total + each.wanted, 0);
          const least = columns.reduce((total, { word }) => total + Math.min(word, 20), 0);
          if (widths === undefined) {
            expect(least).toBeGreaterThan(room);
            return;
          }
          expect(widths.reduce((total, width) => total + width, 0)).toBe(Math.min(wanted, room));
          for (const [index, { wanted: most, word }] of columns.entries()) {
            expect(widths[index]).toBeLessThanOrEqual(most);
            expect(widths[index]).toBeGreaterThanOrEqual(Math.min(word, 20));
          }
        },
      ),
    );
  });

  test('make the widest give way', () => {
    const of = (wanted: number) => ({ wanted, word: 3 });
    expect(columnWidths([of(5), of(50), of(40)], 45)).toEqual([5, 20, 20]);
  });
});
