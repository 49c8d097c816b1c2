import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitText, type WirePieces } from './answer-plan.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(' ', 'a', '\n', '😀') }),
);

describe('cutText', () => {
  test.each<[WirePieces, readonly string[]]>([
    ['whole', ['a b😀 c ']],
    ['words', ['a', ' b😀', ' c', ' ']],
    ['characters', ['a', ' ', 'b', '😀', ' ', 'c', ' ']],
    ['code-units', ['a', ' ', 'b', '\ud83d', '\ude00', ' ', 'c', ' ']],
    [3, ['a b', '😀 c', ' ']],
    [(text) => [text.slice(0, 1), text.slice(1)], ['a', ' b😀 c ']],
  ])('cuts by %s', (pieces, cut) => {
    expect(splitText('a b😀 c ', pieces)).toEqual(cut);
  });

  test('loses no text and makes no empty piece', () => {
    const pieces = fc.constantFrom<WirePieces>(
      'whole',
      'words',
      'characters',
      'code-units',
      1,
      2,
      7,
    );
    fc.assert(
      fc.property(anyText, pieces, (text, how) => {
        const cut = splitText(text, how);
        expect(cut.join('')).toBe(text);
        expect(cut).not.toContain('');
      }),
    );
  });

  test('rejects a length below 1 and a function that loses text', () => {
    expect(() => splitText('abc', 0)).toThrow('whole number from 1');
    expect(() => splitText('abc', () => ['a'])).toThrow('do not join');
  });
});
