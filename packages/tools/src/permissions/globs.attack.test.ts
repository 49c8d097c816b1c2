import { describe, expect, test } from 'vitest';
import { permissionPolicy } from './permission-policy.ts';

// A rule must deny what a shell would match. A rule that matches less protects nothing, without any message.

const decide = (path: string, glob: string, decision: 'allow' | 'deny' = 'deny') =>
  permissionPolicy({ root: '/project', rules: [{ path: glob, decision }] }).decide({
    tool: decision === 'deny' ? 'read' : 'write',
    input: { path, content: '' },
  }).decision;

describe('18.700: attack: a call uses a path that a rule denies with', () => {
  test.each([
    ['[!a]rivate/notes', 'private/notes'],
    ['[!.]*.txt', 'a.txt'],
    ['src/[!_]*.ts', 'src/a.ts'],
    ['[!A-Z]*.txt', 'notes.txt'],
    ['[!]a]x', 'bx'],
    ['[[:alpha:]]rivate/notes', 'private/notes'],
    ['part{1..10}.txt', 'part5.txt'],
    ['part{01..12}.txt', 'part07.txt'],
    ['part{10..1..3}.txt', 'part4.txt'],
    ['part{a..c}.txt', 'partb.txt'],
    ['{a..b,c}.txt', 'a..b.txt'],
    ['pri\\vate/notes', 'private/notes'],
    ['\\data/notes', 'data/notes'],
    ['[\\d]ata/notes', 'data/notes'],
    ['"a"*/notes', '"a"b/notes'],
    ['"a b"/notes', 'a b/notes'],
    ['@(?|no).txt', 'a.txt'],
    ['@(a|b)?.txt', 'ax.txt'],
    ['@(a|b)+.txt', 'a+.txt'],
    ['@(?(a)b).txt', 'ab.txt'],
    ['src/!(public)/notes', 'src/publications/notes'],
    ['src/!(public).txt', 'src/publications.txt'],
    ['src/!(PUBLIC).txt', 'src/public.txt'],
    ['./!a/notes', '!a/notes'],
    ['app/[...all]/*', 'app/[...all]/notes'],
    // 18.779: repeated characters that have a meaning in regular expressions.
    ['~$$*', '~$$x'],
    ['$$*', '$$x'],
    ['^^*', '^^x'],
    ['a$$*/k', 'a$$b/k'],
    ['**/$$*', 'd/$$x'],
    ['d/$$x', 'd/$$X'],
    ['++*', '++x'],
    ['d/*.$$$', 'd/x.$$$'],
    ['d/{$$x,b}', 'd/$$x'],
    ['d/@($$x|b)', 'd/$$x'],
    ['x/%%^&;=#*', 'x/%%^&;=#a'],
    ['x/a\\|b*', 'x/a|bc'],
    ['x/{a*', 'x/{ab'],
    ['x/{a,b*', 'x/{a,bc'],
    ['x/{a}*', 'x/{a}b'],
    ['x/(a*', 'x/(ab'],
    ['x/@(a*', 'x/@(ab'],
    ['x/a)*', 'x/a)b'],
    ['x/a}*', 'x/a}b'],
    ['x/[a*', 'x/[ab'],
    ['x/a]*', 'x/a]b'],
    ['x/a"?', 'x/a"b'],
    ['x/{a,{b}*}', 'x/{b}c'],
    // 18.779: a name that begins with a line end.
    ['private/*', 'private/\nx'],
    ['private/**', 'private/\nx'],
    ['*/x', '\na/x'],
    ['*.key', '\na.key'],
    ['**/*.key', 'd/\na.key'],
    ['private/?x', 'private/\nx'],
    ['src/!(public)', 'src/\na'],
    ['x/a]*/', 'x/a]b'],
    ['x/[[:alpha:]]*', 'x/\u00e9a'],
    ['x/[^[:alpha:]]*', 'x/\u00e9a'],
    ['x/**a', 'x/ba'],
    ['x/**(a)b', 'x/cab'],
    ['**(a)/**', 'x/b'],
    ['***(a', 'x(a'],
  ])('%s (%s)', (glob, path) => {
    expect(decide(path, glob)).toBe('deny');
  });

  test.each([
    ['[!a]rivate/notes', 'arivate/notes'],
    ['part{1..10}.txt', 'part11.txt'],
    ['src/!(public)/notes', 'src/public/notes'],
    ['src/!(public).txt', 'src/public.txt'],
    ['./!a/notes', 'b/notes'],
  ])('%s, but not %s', (glob, path) => {
    expect(decide(path, glob)).toBe('allow');
  });
});

test.each([
  ['src/[!x]*', 'src/x.ts'],
  ['src[!x]main.ts', 'src/main.ts'],
  ['src[+-9]main.ts', 'src/main.ts'],
  ['./!src/**', 'docs/a.md'],
  ['src/\\w\\w', 'src/ab'],
  ['docs/a|b', 'docs/a'],
  ['docs/a|b', 'b'],
  ['docs/a|b*', 'bx'],
  ['docs/x$|*', 'zzz'],
  ['docs/|**', 'zzz'],
  ['docs/(a|b', 'b'],
  ['docs/a)|(b', 'b'],
  ['docs/{a|b}', 'docs/a'],
  ['docs/@(|a)**', 'docs/b/c'],
  ['docs/a**', 'docs/ab/c'],
  ['docs/[[:alpha:]]', 'docs/\u00e9'],
  ['docs/[^[:alpha:]]', 'docs/\u00e9'],
])('18.700: attack: a rule that allows %s does not allow %s', (glob, path) => {
  expect(decide(path, glob, 'allow')).toBe('ask');
});

test.each([
  ['[z-a].txt', 'no characters'],
  ['part{1..5000}.txt', 'more than 1000 values'],
  ['+(a|*).txt', 'repeated in too many ways'],
  ['src/*!(public).txt', 'only plain text'],
  ['src/@(!(a)|b).txt', 'only plain text'],
  ['keys/*.pem|private/*.pem', 'outside of a group'],
  ['docs/{a|b}', 'outside of a group'],
  ['{a,@(b}|c)', 'overlap'],
  ['@({a|b,c})', 'overlap'],
  ['{@(a,b),c}', 'overlap'],
])('18.701: attack: the rule %s would protect nothing, and gives an error', (glob, message) => {
  expect(() => decide('a.txt', glob)).toThrow(message);
});

test.each(['[!r]ash', 'bas{g..i}', '[[:lower:]]ash', '\\bash'])(
  '18.702: attack: a call of a tool that the rule %s denies',
  (tool) => {
    const policy = permissionPolicy({ root: '/project', rules: [{ tool, decision: 'deny' }] });
    expect(policy.decide({ tool: 'bash', input: { command: 'ls' } }).decision).toBe('deny');
    expect(policy.decide({ tool: 'read', input: { path: 'a' } }).decision).toBe('allow');
  },
);

test('18.702: a tool name that begins with ! is an error', () => {
  const rules = [{ tool: '!bash', decision: 'deny' as const }];
  expect(() => permissionPolicy({ root: '/project', rules })).toThrow('not a valid glob');
});

test('18.779: a tool name with | outside of a group is an error, unless the rule allows', () => {
  const ruleFor = (decision: 'allow' | 'deny', tool: string) => () =>
    permissionPolicy({ root: '/project', rules: [{ tool, decision }] });
  expect(ruleFor('deny', 'bash|read')).toThrow('outside of a group');
  expect(ruleFor('allow', 'bash|read')).not.toThrow();
  expect(ruleFor('deny', '@(bash|read)')).not.toThrow();
});
