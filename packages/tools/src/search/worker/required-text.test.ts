import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { requiredText } from './required-text.ts';

const textIn = (source: string, flags = '') => requiredText({ source, flags });

describe('the text that every match contains', () => {
  test.each([
    ['needle', 'needle'],
    ['ne+dle', 'dle'],
    ['colou?r', 'colo'],
    ['ab{0,2}cd', 'cd'],
    ['ab{2}cd', 'ab'],
    ['\\bfoo\\(\\)', 'foo()'],
    ['^import .* from$', 'import '],
    ['(?:a|b)long(er)?', 'long'],
    ['[a-z\\]]+Tool', 'Tool'],
    ['(?!x)abc', 'abc'],
  ])('of %s is %s', (source, text) => expect(textIn(source)).toBe(text));

  test.each(['a|b', '.*', '(needle)?', '\\x41bc', '\\u0041', '\\1ab', '[[a]b]c', 'a{', '\\d+'])(
    'of %s is unknown',
    (source) => expect(textIn(source)).toBeUndefined(),
  );

  test('is unknown if letter case does not matter', () => {
    expect(textIn('needle', 'i')).toBeUndefined();
  });

  test('is in every match of any expression', () => {
    const piece = fc.constantFrom(
      ...[
        'a',
        'b',
        'ab',
        '.',
        '^',
        '$',
        '\\.',
        '\\b',
        '\\w',
        '[ab]',
        '[^a]',
        '(a)',
        '(?:ab|b)',
        '(?=a)',
      ],
      ...['*', '+', '?', '{0,1}', '{2}', '|', '(', ')', '\\x61', 'é', '-', ']'],
    );
    const subject = fc.string({
      unit: fc.constantFrom('a', 'b', '.', '-', 'é', ']'),
      maxLength: 12,
    });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), subject, (pieces, line) => {
        const source = pieces.join('');
        fc.pre(isValid(source));
        const required = textIn(source);
        if (required !== undefined && new RegExp(source).test(line))
          expect(line).toContain(required);
      }),
      { numRuns: runs(2000) },
    );
  });
});

function isValid(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}
