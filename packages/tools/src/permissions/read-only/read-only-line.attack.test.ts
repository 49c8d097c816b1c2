import { expect, test } from 'vitest';
import { endsByItself } from '../../../../core/src/testing/ends-by-itself.ts';
import { isReadOnlyLine } from './read-only-line.ts';

test.for([
  'sort --o=x a',
  'sort --outp x a',
  'sort --comp=./evil a',
  'sort --te=. a',
  'shuf -o x a',
  'shuf -eo x a',
  'shuf --ou=x a',
  'xxd a b',
  'xxd -revert a b',
  'xxd -p -c 8 a b',
  'file -C -m x',
  'file --comp -m x',
  'file -zC x',
  'uniq a b',
  'uniq -c - b',
  'base64 -i a -o b',
  'date -us 2020-01-01',
  'date --se=2020-01-01',
  'tree -fo x',
  'tree -Lo 2 x',
  'tree -L -o x',
  'rg --pre=./evil a',
  'rg -z a',
  'fd -Hx rm',
  'fd --exec-batch rm',
  'find . -fprintf x y',
  'find . -okdir rm {} +',
  'find . -files0-from x',
  'git diff --outp=x',
  'git grep -lO./evil a',
])('attack 1: a line that writes is not taken for a reading one: %s', (line) => {
  expect(isReadOnlyLine(line)).toBe(false);
});

test.for([
  "test -v 'a[$(touch x)]'",
  "[ -v 'a[$(touch x)]' ]",
  "test ! -v 'a[$(touch x)]'",
  "printf -v 'a[$(touch x)]' 1",
  'printf -v PATH . ; ls',
  "printf '%n' PATH; ls",
  "printf -- 'abc%ln' PATH; ls",
  "printf '%5.*n' 1 PATH && ls",
  'printf -vPATH . && ls',
  'test *',
  '[ * ]',
  'printf *',
])('attack 1: a line in which bash runs a command of a name is not a reading one: %s', (line) => {
  expect(isReadOnlyLine(line)).toBe(false);
});

test('other options of these commands read', () => {
  expect(isReadOnlyLine("test -f a && printf '%s %d' -5 b")).toBe(true);
});

// The model chooses the line, and the check runs before the user is asked. During the check, the terminal
// accepts no keys, and a server answers no requests.
test.for([
  ['spaces', `sed -n '${' '.repeat(9900)}x' a`],
  ['spaces after an address', `sed -n '1${' '.repeat(9900)}x' a`],
  ['spaces around !', `sed -n '1${' '.repeat(4900)}!${' '.repeat(4900)}x' a`],
  ['tabs', `sed -n '${'\t'.repeat(9900)}w x' a`],
  ['line ends', `sed -n '${'\n'.repeat(9900)}x' a`],
  ['an open pattern', `sed -n 's/${'a\\\\'.repeat(3300)}' a`],
  ['delimiters', `sed -n 's/a/${'/'.repeat(9900)}w' a`],
] as const)('18.100: a script of sed with many %s does not keep the process busy', ([, line]) => {
  expect(endsByItself(() => isReadOnlyLine(line))).toBe(false);
});

test.for([
  "sed -n '  1,20 p  ' a",
  "sed -n '1 !p' a",
  "sed -n '1! p' a",
  "sed '/a/ s|b|c|g ; $d' a",
  "sed -n '/a/,+3p' a",
])('18.100: spaces in a script of sed still only read: %s', (line) => {
  expect(isReadOnlyLine(line)).toBe(true);
});
