import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { unifiedDiff } from './unified-diff.ts';

const noEnd = '\n\\ No newline at end of file';

/** Applies a diff like `patch`. Fails if its context or its counts are wrong. */
function patch(before: string, diff: string): string {
  const lines = before.split(/(?<=\n)/);
  const result: string[] = [];
  let at = 0;
  for (const hunk of diff === '' ? [] : diff.split(/^(?=@@)/m)) {
    const [, from, length, , newLength] =
      /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n/.exec(hunk)?.map(Number) ?? [];
    if (from === undefined) throw new Error(`no hunk: ${hunk}`);
    const start = length === 0 ? from : from - 1;
    result.push(...lines.slice(at, start));
    at = start;
    let [taken, given] = [0, 0];
    for (const raw of hunk
      .replace(/^@@.*\n/, '')
      .replace(/\n$/, '')
      .split(/\n(?!\\)/)) {
      const line = raw.endsWith(noEnd) ? raw.slice(1, -noEnd.length) : `${raw.slice(1)}\n`;
      if (raw[0] !== '+') expect(lines[at + taken++]).toBe(line);
      if (raw[0] !== '-') {
        result.push(line);
        given++;
      }
    }
    expect([taken, given]).toEqual([length, newLength]);
    at += taken;
  }
  return [...result, ...lines.slice(at)].join('');
}

const someText = fc
  .array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n', 'same\n'), { maxLength: 40 })
  .chain((lines) => fc.constantFrom(lines.join(''), `${lines.join('')}end`));

test('a diff, applied to the old text, gives the new text', () => {
  fc.assert(
    fc.property(someText, someText, (before, after) => {
      const { text, added, removed } = unifiedDiff(before, after, 10_000);
      expect(patch(before, text)).toBe(after);
      const count = (sign: string) =>
        text.split('\n').filter((line) => line.startsWith(sign)).length;
      expect([added, removed]).toEqual([count('+'), count('-')]);
      expect(text === '').toBe(before === after);
    }),
  );
});

test('it has no more changes than diff', () => {
  const folder = temporaryFolder();
  const [a, b] = [join(folder, 'a'), join(folder, 'b')];
  const signs = (text: string) => text.match(/^[-+]/gm)?.length ?? 0;
  fc.assert(
    fc.property(someText, someText, (before, after) => {
      writeFileSync(a, before);
      writeFileSync(b, after);
      const { stdout } = spawnSync('diff', ['-U', '3', '--minimal', a, b], { encoding: 'utf8' });
      const theirs = stdout.replace(/^---.*\n\+\+\+.*\n/, '');
      expect(signs(unifiedDiff(before, after, 10_000).text)).toBe(signs(theirs));
    }),
    { numRuns: runs(100) },
  );
});

test('it has the format of diff -u', () => {
  const before = Array.from({ length: 20 }, (_, index) => `${index + 1}\n`).join('');
  const after = before.replace('\n5\n', '\nfive\n').replace('20\n', '20');
  expect(unifiedDiff(before, after, 100).text).toBe(
    [
      '@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8',
      `@@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20${noEnd}`,
    ].join('\n'),
  );
});

test('texts without common lines are one change, and a long diff is cut', () => {
  const lines = (sign: string) =>
    Array.from({ length: 3000 }, (_, index) => `${sign}${index}\n`).join('');
  const { text, added, removed } = unifiedDiff(lines('a'), lines('b'), 50);
  expect({ added, removed }).toEqual({ added: 3000, removed: 3000 });
  expect(text.split('\n')).toHaveLength(51);
  expect(text).toMatch(/… \(5951 more lines of diff\)$/);
});
