import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import { loadExtras } from '../extras.ts';
import { MarkdownView } from '../markdown-view.tsx';
import { readCsv } from './csv-view.tsx';

test.each<[string, ',' | '\t', readonly (readonly string[])[] | undefined]>([
  [
    'a,b\n1,2',
    ',',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,b\r\n1,\r\n',
    ',',
    [
      ['a', 'b'],
      ['1', ''],
    ],
  ],
  [
    'a\tb\n"x\ty"\t2',
    '\t',
    [
      ['a', 'b'],
      ['x\ty', '2'],
    ],
  ],
  [
    'a,b\n"say ""hi"", ok","two\nlines"',
    ',',
    [
      ['a', 'b'],
      ['say "hi", ok', 'two\nlines'],
    ],
  ],
  ['a,b', ',', undefined],
  ['a\nb', ',', undefined],
  ['a,b\n1,2,3', ',', undefined],
  ['a,b\n"1,2', ',', undefined],
  ['', ',', undefined],
])('%j', (text, separator, expected) => {
  expect(readCsv(text, separator)).toEqual(expected);
});

test('a table that was written is read again', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '1', ' ', ',', '"', '\n', '\t', 'ö') });
  const table = fc.integer({ min: 2, max: 5 }).chain((length) =>
    fc.array(fc.array(cell, { minLength: length, maxLength: length }), {
      ...{ minLength: 2, maxLength: 6 },
    }),
  );
  fc.assert(
    fc.property(table, fc.constantFrom(',' as const, '\t' as const), (rows, separator) => {
      const quoted = rows.map((row) => row.map((one) => `"${one.replaceAll('"', '""')}"`));
      const text = quoted.map((row) => row.join(separator)).join('\n');
      expect(readCsv(text, separator)).toEqual(rows);
    }),
  );
});

test('a code block in CSV is a table when it is complete, and its code is one press away', async () => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  const source = '```csv\ntown,rain\nBern,"1,200"\n';
  await page.render(<MarkdownView text={source} isOpen />);
  expect(page.findAll('table')).toEqual([]);
  await page.render(<MarkdownView text={`${source}\`\`\``} isOpen={false} />);
  expect(page.findAll('th, td').map(({ textContent }) => textContent)).toEqual([
    ...['town', 'rain', 'Bern', '1,200'],
  ]);
  const button = page.findAll('button').find(({ textContent }) => textContent === 'Code');
  await page.click(button ?? expect.fail());
  expect(page.find('.code pre').textContent).toContain('Bern,"1,200"');
});
