import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { fileLines, grepFile } from './grep-file.ts';

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

test('23.11: portions that are skipped without splitting change no result', async () => {
  const patterns = ['^foo', 'o$', '^$', 'a.c', 'fo+|x', '[a-c]+o', 'foo\\.', '\\bfoo\\w'];
  const line = fc.constantFrom('', 'foo', 'a', 'abc', 'foo.', ' x', 'caao', 'foob', 'b\u2028foo');
  const text = fc
    .tuple(fc.constantFrom('', '\uFEFF'), fc.array(line), fc.constantFrom('\n', '\r\n'))
    .map(([mark, lines, end]) => mark + lines.join(end));
  const path = join(temporaryFolder(), 'quick');
  await fc.assert(
    fc.asyncProperty(text, fc.constantFrom(...patterns), async (content, pattern) => {
      writeFileSync(path, content);
      const regex = new RegExp(pattern, 'u');
      const options = { regex, maxMatches: Number.POSITIVE_INFINITY, maxLength: 1e6 };
      const find = async (contextLines: number) => {
        const fd = openSync(path, 'r');
        const { lines } = await grepFile(fd, { ...options, contextLines });
        closeSync(fd);
        return lines.filter(({ isMatch }) => isMatch);
      };
      // With context lines, nothing is skipped.
      expect(await find(0)).toEqual(await find(1));
    }),
    { numRuns: runs(200) },
  );
});
