import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { type FileLine, fileLines } from './file-lines.ts';

test('the lines of a file are those of its text, whole characters across all portions', async () => {
  const path = join(temporaryFolder(), 'file');
  const piece = fc.constantFrom(
    'a',
    'ü',
    '€',
    '😀',
    '\n',
    '\n\n',
    '\r\n',
    '😀'.repeat(9000),
    'b'.repeat(60_000),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
      const text = pieces.join('');
      writeFileSync(path, text);
      const file = await open(path);
      const lines: FileLine[] = [];
      for await (const portion of fileLines(file)) lines.push(...portion);
      await file.close();
      const expected = text.replace(/\n$/, '').split('\n');
      expect(lines).toEqual(
        text === ''
          ? []
          : expected.map((line, at) => ({ number: at + 1, text: line.replace(/\r$/, '') })),
      );
    }),
    { numRuns: 200 },
  );
});
