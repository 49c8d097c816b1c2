import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { fileLines } from './grep-file.ts';

test('the lines of a file equal those of its text, with whole characters across portions', () => {
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
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join('');
      writeFileSync(path, text);
      const fd = openSync(path, 'r');
      const lines = [...fileLines(fd)].flat();
      closeSync(fd);
      const expected = text.replace(/\n$/, '').split('\n');
      expect(lines).toEqual(
        text === ''
          ? []
          : expected.map((line, at) => ({ number: at + 1, text: line.replace(/\r$/, '') })),
      );
    }),
    { numRuns: runs(200) },
  );
});
