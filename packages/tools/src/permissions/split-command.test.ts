import { describe, expect, test } from 'vitest';
import { splitCommand } from './split-command.ts';

const words = (command: string) =>
  splitCommand(command).parts.map((part) => part.map(({ text }) => text));
const obstacle = (command: string) => splitCommand(command).unsupportedSyntax;

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
    ['größe "€"', [['größe', '€']]],
    ['', []],
  ])('of %j', (command, expected) => {
    expect(words(command)).toEqual(expected);
    expect(obstacle(command)).toBeUndefined();
  });

  test('are not plain where the shell may make something else of them', () => {
    const [part = []] = splitCommand(`a * ? [b] {c,d} ~ '*' "~" \\* b!`).parts;
    expect(part.filter(({ isPlain }) => isPlain).map(({ text }) => text)).toEqual([
      'a',
      '*',
      '~',
      '*',
    ]);
  });
});

describe('an obstacle', () => {
  test.each([
    ['a $b', 'a substitution'],
    ['a "$(b)"', 'a substitution'],
    ['a `b`', 'a substitution'],
    ['a > b', 'a redirection'],
    ['a 2>&1', 'a redirection'],
    ['a &> b', 'a redirection'],
    ['a |& b', 'a redirection'],
    ['a <<E', 'a redirection'],
    ['(a)', 'parentheses'],
    ['a() { b; }', 'parentheses'],
    ['a # b', 'a comment'],
    ["a 'b", 'a quote without its end'],
    ['a "b', 'a quote without its end'],
    ['a \\', 'a backslash at the end'],
    ['a \\\nb', 'a line that goes on'],
    ['a "b\\\nc"', 'a line that goes on'],
    ['; a', 'a separator without a command before it'],
    ['a && ; b', 'a separator without a command before it'],
    ['A=b c', 'the syntax of the shell'],
    ['A[0]+=b', 'the syntax of the shell'],
    ['if a; then b; fi', 'the syntax of the shell'],
    ['! a', 'the syntax of the shell'],
    ['{ a; }', 'the syntax of the shell'],
    ['time a', 'the syntax of the shell'],
    ['a\r\nb', 'a control character'],
    ['a "\0"', 'a control character'],
    [`a ${'b'.repeat(10_000)}`, 'its length'],
  ])('is in %j', (command, expected) => {
    expect(obstacle(command)).toBe(expected);
  });

  test('leaves a guess at the commands that are there', () => {
    expect(words('a $(b c) `d` > e f')).toEqual([['a', '$'], ['b', 'c'], ['d'], ['f']]);
    expect(words('X=1 if a; then ! b > /dev/null c; fi')).toEqual([['a'], ['b', 'c']]);
  });
});
