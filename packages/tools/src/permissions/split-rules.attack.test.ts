import { describe, expect, test } from 'vitest';
import { movedRules } from './moved-rules.ts';
import { permissionPolicy } from './permission-policy.ts';

// A group can contain slashes and `**`. A rule with such a group must deny what a shell would match.

const root = '/srv/project';

const policyFor = (path: string) => permissionPolicy({ root, rules: [{ path, decision: 'deny' }] });

const decide = (glob: string, path: string) =>
  policyFor(glob).decide({ tool: 'read', input: { path } }).decision;

const absolute = [
  '{/nonexist,/srv/project}/private/**',
  '@(/nonexist|/srv/project)/private/**',
  '{,/private}/srv/project/private/**',
  '{/private,}/srv/project/private/**',
  '?(/private)/srv/project/private/**',
  '@(|/private)/srv/project/private/**',
  '{,x}/srv/project/private/**',
  '?(x)/srv/project/private/**',
  '{{/a,/srv},b}/project/private/**',
  '\\/srv/project/private/**',
  '/srv\\/project\\/private',
  '"/srv/project"/private/**',
  '{/srv/project/private/**}',
];

describe('18.762: attack: a call uses a path that a rule denies, and its absolute path begins in a group', () => {
  test.each(absolute)('%s', (glob) => {
    expect(decide(glob, 'private/key.txt')).toBe('deny');
    expect(decide(glob, 'public/key.txt')).toBe('allow');
    const policy = policyFor(glob);
    expect(policy.deniedEntries('grep')(`${root}/private`)('key.txt')).toBe(true);
    const search = { tool: 'grep', input: { pattern: 'a', path: '.' } };
    expect(policy.decide(search).decision).toBe('ask');
    const moved = movedRules(policy.rules, root, '/copy').map(({ path }) => path);
    expect(moved.some((path) => path?.startsWith('/copy/private'))).toBe(true);
  });

  test('a set with a slash is an error', () => {
    expect(() => policyFor('[/]srv/project/**')).toThrow('has slashes');
  });
});

describe('18.763: attack: a call uses a path that a rule denies, and ** in a group stands for no folder', () => {
  test.each([
    ['{**/private,secrets}/**', 'private/k.txt'],
    ['{**/private,secrets}/**', 'a/b/private/k.txt'],
    ['{src/**,lib/**}/secret.txt', 'src/secret.txt'],
    ['@(src/**|lib)/secret.txt', 'src/secret.txt'],
    ['{**,a}/x', 'x'],
    ['@(**|a)/x', 'b/c/x'],
    ['{a/**,b}/c', 'a/c'],
    ['a/{**,b}/c', 'a/c'],
    ['{p,o/x}/**/k', 'p/a\nb/k'],
  ])('%j denies %j', (glob, path) => {
    expect(decide(glob, path)).toBe('deny');
  });

  test.each([
    ['{src/**,lib/**}/secret.txt', 'docs/secret.txt'],
    ['{**/private,secrets}/**', 'public/k.txt'],
    ['{a,b}/c', 'c'],
  ])('but %j does not deny %j', (glob, path) => {
    expect(decide(glob, path)).toBe('allow');
  });
});
