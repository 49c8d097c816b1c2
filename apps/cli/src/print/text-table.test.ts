import { expect, test } from 'vitest';
import { cellWidth } from '../text/cells/cell-width.ts';
import { textTable } from './text-table.ts';

test('columns stand below each other, counted in cells, and numbers to the right', () => {
  const rows = [
    ['a', '1', '日本', 'end'],
    ['bbb', '22', 'x', 'of it'],
  ];
  expect(textTable(rows, { rightAligned: [1] })).toEqual([
    'a     1  日本  end',
    'bbb  22  x     of it',
  ]);
});

test('the last column is cut off where the terminal ends, and is worth showing all the same', () => {
  const rows = [['id', 'word '.repeat(30)]];
  const [line = ''] = textTable(rows, { columns: 40 });
  expect(cellWidth(line)).toBeLessThanOrEqual(40);
  expect(line.endsWith('…')).toBe(true);
  const [narrow = ''] = textTable(rows, { columns: 5 });
  expect(cellWidth(narrow)).toBeGreaterThan(20);
});

test('a narrow terminal does not show optional columns, and no line is wider than it', () => {
  const rows = [
    ['ID', 'STATE', 'FOLDER', 'TITLE'],
    ['one', 'waiting', '/a/long/path', 'A title that is rather long'],
  ];
  const shown = (columns: number) => textTable(rows, { columns, optional: [2, 1] });
  expect(shown(80)).toEqual(textTable(rows));
  expect(shown(40)[1]).toBe('one  waiting  A title that is rather lo…');
  expect(shown(30)[1]).toBe('one  A title that is rather l…');
  for (let columns = 1; columns < 80; columns++)
    for (const line of shown(columns)) expect(cellWidth(line)).toBeLessThanOrEqual(columns);
});

test('there is nothing to show of nothing', () => {
  expect(textTable([])).toEqual([]);
});

test('may have as many rows as a long session has records', () => {
  const rows = Array.from({ length: 300_000 }, (_, index) => [String(index), 'x']);
  expect(textTable(rows).at(-1)).toBe('299999  x');
});
