import { disguisesInCall } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeInvisible } from '../approval/answer-forms.tsx';
import { textRuns } from './visible-text.tsx';

const escapesOf = (text: string) => textRuns(text).map((run) => run.escape ?? run.text);

test('direction marks, joiners and invisible characters are escaped by their code', () => {
  expect(escapesOf('rm \u202Etxt.exe\u202C')).toEqual(['rm ', '\\u202E', 'txt.exe', '\\u202C']);
  expect(escapesOf('a\u200b\u200b\u200bb')).toEqual(['a', '\\u200B ×3', 'b']);
  expect(escapesOf('\u{e0041}x\ufeff')).toEqual(['\\u{E0041}', 'x', '\\uFEFF']);
  expect(escapesOf('rm -rf /\u00a0tmp\u001b[2K\r')).toEqual([
    ...['rm -rf /', '\\u00A0', 'tmp', '\\u001B', '[2K', '\\r'],
  ]);
  expect(escapesOf('\ud800')).toEqual(['\\uD800']);
});

test('the scope `directions` escapes direction marks only', () => {
  const input = 'a\u200b\u202E\u202Eb\u2066c\u00a0\u200e\r';
  const runs = textRuns(input, 'directions');
  expect(runs.map((run) => run.escape ?? run.text)).toEqual([
    ...['a\u200b', '\\u202E ×2', 'b', '\\u2066', 'c\u00a0\u200e\r'],
  ]);
  expect(runs.map((run) => run.text).join('')).toBe(input);
});

test('visible characters are not changed', () => {
  const plain = 'if (a)\n\n\tb(); // “é” 日本　語 ❤️ 1️⃣ שלום\n';
  expect(escapesOf(plain)).toEqual([plain]);
});

test('long blanks and many empty lines are replaced by their count', () => {
  expect(escapesOf(`ok${' '.repeat(4000)}; evil`)).toEqual(['ok', '␠ ×4000', '; evil']);
  expect(escapesOf(`ok\n${' \n'.repeat(90)}evil`)).toEqual(['ok\n', '↵ ×90', 'evil']);
});

test('no character is lost and no invisible character remains', () => {
  const suspicious = fc.constantFrom(
    ...'\u202e\u200b\u2066\ufe0f\r\t \n\u{e0041}a',
    ' '.repeat(50),
  );
  const text = fc
    .array(fc.oneof(suspicious, fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 12 })
    .map((all) => all.join(''));
  fc.assert(
    fc.property(text, (input) => {
      const runs = textRuns(input);
      expect(runs.map((run) => run.text).join('')).toBe(input);
      const remaining = runs.map((run) => run.escape ?? run.text).join('');
      expect(remaining).not.toMatch(/[\p{Bidi_Control}\u200b\r\p{Cs}]/u);
      expect(JSON.parse(escapeInvisible(JSON.stringify(input), disguisesInCall))).toBe(input);
      expect(escapeInvisible(input, disguisesInCall)).not.toMatch(
        /[\p{Bidi_Control}\u200b\r\p{Cs}]/u,
      );
    }),
  );
});
