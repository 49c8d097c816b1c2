import { expect, test } from 'vitest';
import { applyPatch } from './apply-patch.ts';
import { decodeText } from './text-file.ts';

// A small patch keeps the process busy for minutes. This happens even before the user is asked, because the
// preview also applies the patch.

function problemOf(text: string, diff: string): string | undefined {
  const file = decodeText(new TextEncoder().encode(text));
  if (file === undefined) throw new Error('not text');
  const outcome = applyPatch(file, diff);
  return outcome.ok ? undefined : outcome.problem;
}

test('attack: lines that almost fit everywhere are searched in linear time', () => {
  const diff = `@@\n${'-a\n'.repeat(20_000)}-b\n+c`;
  expect(problemOf('a\n'.repeat(500_000), diff)).toContain('These lines are not in the file');
});

test('attack: many sections in a file of many lines are refused', () => {
  const diff = '@@\n-a\n+c\n'.repeat(1000);
  expect(problemOf('a\n'.repeat(500_000), diff)).toContain('too much work');
});

test('attack: many anchors in a file of many lines are refused', () => {
  const diff = `${'@@ a\n'.repeat(1000)}-b\n+c`;
  expect(problemOf(' a\n'.repeat(500_000), diff)).toContain('too much work');
});

test('attack: a patch of a million lines is refused', () => {
  expect(problemOf('a\n', `@@\n-a\n${'\n'.repeat(1_000_000)}`)).toContain('more than');
});

test('a thousand sections in a file of ten thousand lines are applied', () => {
  const text = Array.from({ length: 10_000 }, (_, index) => `line ${index}\n`).join('');
  const sections = Array.from({ length: 999 }, (_, at) => `@@\n-line ${at * 10}\n+changed\n`);
  expect(problemOf(text, sections.join(''))).toBe(undefined);
});

test('lines that overlap with themselves are found', () => {
  expect(problemOf('a\na\nb\na\na\na\nb\n', '@@\n-a\n-a\n-a\n-b\n+x')).toBe(undefined);
});
