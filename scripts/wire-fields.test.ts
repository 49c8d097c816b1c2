import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tableFolder, tableHeading, wireTables } from './wire-fields.ts';

test.each(wireTables)('the table in $file is of the installed $sdk', (table) => {
  const text = readFileSync(join(tableFolder, table.file), 'utf8');
  expect(text, 'Run `npm run wire-fields`.').toContain(tableHeading(table));
});
