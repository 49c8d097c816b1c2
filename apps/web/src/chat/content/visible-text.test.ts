import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeInvisible, textRuns } from './visible-text.tsx';

const shown = (text: string) => textRuns(text).map((run) => run.escape ?? run.text);

test('what turns the direction, joins, or has no look is told by its number', () => {
  expect(shown('rm \u202Etxt.exe\u202C')).toEqual(['rm ', '\\u202E', 'txt.exe', '\\u202C']);
  expect(shown('a\u200b\u200b\u200bb')).toEqual(['a', '\\u200B ×3', 'b']);
  expect(shown('\u{e0041}x\ufeff')).toEqual(['\\u{E0041}', 'x', '\\uFEFF']);
  expect(shown('rm -rf /\u00a0tmp\u001b[2K\r')).toEqual([
    ...['rm -rf /', '\\u00A0', 'tmp', '\\u001B', '[2K', '\\r'],
  ]);
  expect(shown('\ud800')).toEqual(['\\uD800']);
});

test('of what is only read, what turns the direction is told and nothing else', () => {
  const input = 'a\u200b\u202E\u202Eb\u2066c\u00a0\u200e\r';
  const runs = textRuns(input, 'directions');
  expect(runs.map((run) => run.escape ?? run.text)).toEqual([
    ...['a\u200b', '\\u202E ×2', 'b', '\\u2066', 'c\u00a0\u200e\r'],
  ]);
  expect(runs.map((run) => run.text).join('')).toBe(input);
});

test('what can be seen is left as it is', () => {
  const plain = 'if (a)\n\n\tb(); // “é” 日本　語 ❤️ 1️⃣ שלום\n';
  expect(shown(plain)).toEqual([plain]);
});

test('blanks and empty lines that push the rest away are counted instead', () => {
  expect(shown(`ok${' '.repeat(4000)}; evil`)).toEqual(['ok', '4,000 blanks', '; evil']);
  expect(shown(`ok\n${' \n'.repeat(90)}evil`)).toEqual(['ok\n', '90 empty lines', 'evil']);
});

test('no letter is lost, and none that cannot be seen is left', () => {
  const odd = fc.constantFrom(...'\u202e\u200b\u2066\ufe0f\r\t \n\u{e0041}a', ' '.repeat(50));
  const text = fc
    .array(fc.oneof(odd, fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 12 })
    .map((all) => all.join(''));
  fc.assert(
    fc.property(text, (input) => {
      const runs = textRuns(input);
      expect(runs.map((run) => run.text).join('')).toBe(input);
      const left = runs.map((run) => run.escape ?? run.text).join('');
      expect(left).not.toMatch(/[\p{Bidi_Control}\u200b\r\p{Cs}]/u);
      expect(JSON.parse(escapeInvisible(JSON.stringify(input)))).toBe(input);
      expect(escapeInvisible(input)).not.toMatch(/[\p{Bidi_Control}\u200b\r\p{Cs}]/u);
    }),
  );
});
