import { describe, expect, test } from 'vitest';
import { splitCommand } from './split-command.ts';

const words = (command: string) =>
  splitCommand(command).parts.map((part) => part.map(({ text }) => text));
const unsupported = (command: string) => splitCommand(command).unsupportedSyntax;

describe('words', () => {
  test.each<[string, readonly (readonly string[])[]]>([
    ['git status', [['git', 'status']]],
    ['  git\t status  ', [['git', 'status']]],
    [`git commit -m 'a "b" $c'`, [['git', 'commit', '-m', 'a "b" $c']]],
    [`a "b 'c' \\" \\\\ \\n"`, [['a', `b 'c' " \\ \\n`]]],
    [`a b\\ c\\;d`, [['a', 'b c;d']]],
    [`a'b'"c"d`, [['abcd']]],
    [`a '' ""`, [['a', '', '']]],
    ['a#b c', [['a#b', 'c']]],
    ['a; b && c || d | e & f', [['a'], ['b'], ['c'], ['d'], ['e'], ['f']]],
    ['a\n\nb\n', [['a'], ['b']]],
    ['a &&\n b', [['a'], ['b']]],
    ['a 2>&1 | b 2>/dev/null >>  /dev/null c', [['a'], ['b', 'c']]],
    ['a 2 >&2 </dev/null', [['a', '2']]],
    ['größe "€"', [['größe', '€']]],
    ['', []],
  ])('of %j', (command, expected) => {
    expect(words(command)).toEqual(expected);
    expect(unsupported(command)).toBeUndefined();
  });

  test('are not plain if the shell may expand them', () => {
    const [part = []] = splitCommand(`a * ? [b] {c,d} ~ '*' "~" \\* b!`).parts;
    expect(part.filter(({ isPlain }) => isPlain).map(({ text }) => text)).toEqual([
      'a',
      '*',
      '~',
      '*',
    ]);
  });
});

describe('unsupported syntax', () => {
  test.each([
    ['a $b', 'a substitution'],
    ['a "$(b)"', 'a substitution'],
    ['a `b`', 'a substitution'],
    ['a > b', 'a redirection'],
    ['a 2>&1x', 'a redirection'],
    ["a '2'>&1", 'a redirection'],
    ['a b2>&1', 'a redirection'],
    ['a \\ >&1', 'a redirection'],
    ['a 3>&1', 'a redirection'],
    ['a {b}>/dev/null', 'a redirection'],
    ['a >/dev/null/x', 'a redirection'],
    ['a >"/dev/null"', 'a redirection'],
    ['a <>/dev/null', 'a redirection'],
    ['a >|/dev/null', 'a redirection'],
    ['a &>/dev/null b', 'a redirection'],
    ['a &> b', 'a redirection'],
    ['a |& b', 'a redirection'],
    ['a <<E', 'a redirection'],
    ['(a)', 'parentheses'],
    ['a() { b; }', 'parentheses'],
    ['a # b', 'a comment'],
    ["a 'b", 'an unclosed quote'],
    ['a "b', 'an unclosed quote'],
    ['a \\', 'a backslash at the end'],
    ['a \\\nb', 'a line continuation'],
    ['a "b\\\nc"', 'a line continuation'],
    ['; a', 'a separator without a command before it'],
    ['a && ; b', 'a separator without a command before it'],
    ['A=b c', 'shell syntax'],
    ['A[0]+=b', 'shell syntax'],
    ['if a; then b; fi', 'shell syntax'],
    ['! a', 'shell syntax'],
    ['{ a; }', 'shell syntax'],
    ['time a', 'shell syntax'],
    ['a\r\nb', 'a control character'],
    ['a "\0"', 'a control character'],
    [`a ${'b'.repeat(10_000)}`, 'too many characters'],
  ])('is found in %j', (command, expected) => {
    expect(unsupported(command)).toBe(expected);
  });

  test('still gives a guess at the commands', () => {
    expect(words('a $(b c) `d` > e f')).toEqual([['a', '$'], ['b', 'c'], ['d'], ['f']]);
    expect(words('X=1 if a; then ! b > /dev/null c; fi')).toEqual([['a'], ['b', 'c']]);
  });
});
