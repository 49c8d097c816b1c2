import fc from 'fast-check';
import { expect, test } from 'vitest';
import { diffLines } from './diff.ts';
import { sideRows, wordChanges } from './diff-sides.ts';

const rows = (diff: string) =>
  sideRows(diffLines(diff)).map((row) =>
    row.type === 'note' ? row.line.text : `${row.before?.text ?? ''} | ${row.after?.text ?? ''}`,
  );

test('removed lines stand beside the added lines that follow them', () => {
  expect(rows('@@ -1,4 +1,4 @@\n a\n-b\n-c\n+d\n e\n+f\n-g\n+h')).toEqual([
    '@@ -1,4 +1,4 @@',
    ...['a | a', 'b | d', 'c | ', 'e | e', ' | f', 'g | h'],
  ]);
});

const marked = (before: string, after: string) => {
  const changes = wordChanges(before, after);
  const text = (pieces: readonly { text: string; isChanged: boolean }[] | undefined) =>
    pieces?.map((piece) => (piece.isChanged ? `[${piece.text}]` : piece.text)).join('');
  return [text(changes?.before), text(changes?.after)];
};

test.each([
  ['const a = 1;', 'const b = 1;', ['const [a] = 1;', 'const [b] = 1;']],
  ['return total;', 'return total + tax;', ['return total;', 'return total[ + tax];']],
  ['a b c d', 'a x c y d', ['a [b] c d', 'a [x] c[ y] d']],
  ['completely', 'different words', [undefined, undefined]],
])('the words that changed from %j to %j', (before, after, expected) => {
  expect(marked(before, after)).toEqual(expected);
});

test('all pieces together are the line', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '.', 'ö', '\u{1f600}') });
  fc.assert(
    fc.property(line, line, (before, after) => {
      const changes = wordChanges(before, after);
      if (changes === undefined) return;
      expect(changes.before.map(({ text }) => text).join('')).toBe(before);
      expect(changes.after.map(({ text }) => text).join('')).toBe(after);
    }),
  );
});

test('long lines are not compared', () => {
  expect(wordChanges('a '.repeat(2_000), 'b '.repeat(2_000))).toBeUndefined();
  expect(wordChanges('a.'.repeat(900), 'b,'.repeat(900))).toBeUndefined();
});
