// biome-ignore-all lint/suspicious/noControlCharactersInRegex: sequences begin with one
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cellWidth } from '../cells/cell-width.ts';
import { colorTheme, plainTheme } from '../theme/theme.ts';
import { diffToAnsi, findLineChange } from './diff-to-ansi.ts';

const diff = `diff --git a/x b/x
--- a/x
+++ b/x
@@ -8,4 +8,5 @@ f()
 same
-const a = one(1);
+const a = one(2);
 same
--- text
+added
+more
\\ No newline at end of file`;

const plainly = (text: string, options: { width?: number; maxLines?: number } = {}) =>
  diffToAnsi(text, { theme: plainTheme, width: 40, ...options });

describe('a diff', () => {
  test('has signs and the numbers of lines', () => {
    expect(plainly(diff).split('\n')).toEqual([
      'diff --git a/x b/x',
      '--- a/x',
      '+++ b/x',
      '@@ -8,4 +8,5 @@ f()',
      ' 8   same',
      ' 9 - const a = one(1);',
      ' 9 + const a = one(2);',
      '10   same',
      '11 - -- text',
      '11 + added',
      '12 + more',
      '\\ No newline at end of file',
    ]);
  });

  test('has no numbers where no hunk says them', () => {
    expect(plainly('-a\n+b\n c')).toBe('- a\n+ b\n  c');
    expect(plainly('')).toBe('');
  });

  test('shows what changed in a line that was replaced by one other', () => {
    const painted = diffToAnsi(diff, { theme: colorTheme, width: 40 }).split('\n');
    expect(painted[5]).toContain('\u001b[31m\u001b[7m1\u001b[27m\u001b[39m');
    expect(painted[6]).toContain('\u001b[32m\u001b[7m2\u001b[27m\u001b[39m');
    for (const other of ['-a b 1\n-a b 2\n+a b 3', '-a b 1\n+a b 2\n+a b 3']) {
      expect(diffToAnsi(other, { theme: colorTheme, width: 40 })).not.toContain('\u001b[7m');
    }
    expect(painted.join('\n').match(/\u001b\[7m/g)).toHaveLength(2);
  });

  test('wraps long lines with a mark, or clips them', () => {
    const long = '@@ -1 +1 @@\n+abcdefghij';
    expect(plainly(long, { width: 9 })).toBe('@@ -1 +1 \n@@\n1 + abcde\n  ↳ fghij');
    expect(diffToAnsi(long, { theme: plainTheme, width: 9, longLines: 'clip' })).toBe(
      '@@ -1 +1…\n1 + abcd…',
    );
  });

  test('says how much is left out', () => {
    expect(plainly(diff, { maxLines: 3 })).toBe(
      'diff --git a/x b/x\n--- a/x\n… 10 more lines of diff',
    );
    expect(plainly('+a\n+b', { maxLines: 2 })).toBe('+ a\n+ b');
    expect(plainly('+a\n+b', { maxLines: 1 })).toBe('… 2 more lines of diff');
    expect(plainly('+a', { maxLines: 0 })).toBe('');
  });

  test('shows tabs, line ends and what would control the terminal', () => {
    expect(plainly('+\ta\r\n-\u001b[2J\u202e')).toBe('+     a␍\n- ␛[2J\ufffd');
  });

  test('fits into its width and its lines, and says the same in colours', () => {
    const line = fc.tuple(
      fc.constantFrom('+', '-', ' ', '@@ -1,3 +1,4 @@', '--- ', '', '\\'),
      fc.string({
        unit: fc.constantFrom('a', ' ', '-', '漢', '👍', 'e\u0301', '\t', '\u001b'),
        maxLength: 30,
      }),
    );
    const text = fc.array(line.map((parts) => parts.join(''))).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, fc.integer({ min: 4, max: 40 }), fc.nat(12), (source, width, maxLines) => {
        const shown = plainly(source, { width, maxLines });
        for (const row of shown.split('\n')) expect(cellWidth(row)).toBeLessThanOrEqual(width);
        if (shown !== '') expect(shown.split('\n').length).toBeLessThanOrEqual(maxLines);
        const painted = diffToAnsi(source, { theme: colorTheme, width, maxLines });
        expect(stripVTControlCharacters(painted)).toBe(shown);
      }),
    );
  });
});

describe('the part of a line that changed', () => {
  const parts = (before: string, after: string) => {
    const change = findLineChange(before, after);
    return (
      change && [
        before.slice(change.before.from, change.before.to),
        after.slice(change.after.from, change.after.to),
      ]
    );
  };

  test('is made of whole words', () => {
    expect(parts('const total = 10;', 'const total = 12;')).toEqual(['10', '12']);
    expect(parts('a long call(x)', 'a long call(x, y)')).toEqual(['', ', y']);
    expect(parts('return value;', 'return value;')).toEqual(['', '']);
  });

  test('is not told where hardly anything stayed, or where lines are very long', () => {
    expect(parts('abc def', 'xyz')).toBeUndefined();
    expect(parts(`${'a'.repeat(3_000)} b`, `${'a'.repeat(3_000)} c`)).toBeUndefined();
  });
});
