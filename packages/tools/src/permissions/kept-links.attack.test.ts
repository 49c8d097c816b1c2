import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { findDeniedPaths } from '../sandbox/hidden-paths.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { movedRules } from './moved-rules.ts';
import { permissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';

// A rule names a path that leads through a link of the workspace. A command of a hostile model changes the link.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'shared/conf/prod.txt': 'KEY', 'other/prod.txt': 'KEY', 'a.txt': 'a' });
  symlinkSync('shared/conf', join(root, 'conf'));
});
afterEach(() => void vi.useRealTimers());

const deny = (path: string, more: Partial<PermissionRule> = {}): PermissionRule => ({
  ...{ path, decision: 'deny' },
  ...more,
});
const decision = (rules: readonly PermissionRule[], path: string) =>
  permissionPolicy({ root, rules }).decide({ tool: 'read', input: { path } }).decision;

describe('18.601: attack: a removed link', () => {
  test.for(['conf/**', 'conf/*.txt', 'c*/prod.txt', '{conf,x}/prod.txt'])(
    'does not end the rule %s',
    (path) => {
      vi.useFakeTimers({ toFake: ['performance'] });
      const policy = permissionPolicy({ root, rules: [deny(path)] });
      const mayReach = () =>
        policy.mayReach('read', { path: 'shared/conf/prod.txt', kind: 'read' });
      expect(mayReach()).toBe(false);
      rmSync(join(root, 'conf'));
      vi.advanceTimersByTime(1001);
      expect(mayReach()).toBe(false);
      // A policy with one more rule is a new policy.
      expect(decision([deny(path)], 'shared/conf/prod.txt')).toBe('deny');
    },
  );

  test('does not end a rule that asks', () => {
    const rules = [deny('conf/*.txt', { decision: 'ask' })];
    expect(decision(rules, 'shared/conf/prod.txt')).toBe('ask');
    rmSync(join(root, 'conf'));
    expect(decision(rules, 'shared/conf/prod.txt')).toBe('ask');
  });

  test('does not end a rule in a copy of the folder', () => {
    const copy = temporaryFolder();
    const rules = [deny(join(root, 'conf/*.txt'))];
    const inCopy = () =>
      permissionPolicy({ root: copy, rules: movedRules(rules, root, copy) }).decide({
        ...{ tool: 'read', input: { path: 'shared/conf/prod.txt' } },
      }).decision;
    expect(inCopy()).toBe('deny');
    rmSync(join(root, 'conf'));
    expect(inCopy()).toBe('deny');
  });
});

test('18.601: attack: a changed link adds its new target', () => {
  expect(decision([deny('conf/**')], 'other/prod.txt')).toBe('allow');
  rmSync(join(root, 'conf'));
  symlinkSync('other', join(root, 'conf'));
  expect(decision([deny('conf/**')], 'other/prod.txt')).toBe('deny');
  expect(decision([deny('conf/**')], 'shared/conf/prod.txt')).toBe('deny');
});

test('18.601: the sandbox keeps the links that lead to hidden paths, and no others', async () => {
  symlinkSync('other', join(root, 'build'));
  mkdirSync(join(root, 'in'));
  symlinkSync('../conf', join(root, 'in/chain'));
  const find = (path: string) =>
    findDeniedPaths(permissionPolicy({ root, rules: [deny(path)] }), 'bash');
  expect((await find('conf/**')).links).toEqual([join(root, 'conf')]);
  expect((await find('in/chain/*.txt')).links).toEqual([
    join(root, 'in/chain'),
    join(root, 'conf'),
  ]);
  expect((await find('*/missing.txt')).links).toEqual([]);
  expect((await find('a.txt')).links).toEqual([]);
});

describe('18.602: attack: a rule with a group', () => {
  test.for([
    '{conf,secrets}/**',
    '@(conf|secrets)/**',
    '?(x|conf)/prod.txt',
    '{c,d}onf/prod.txt',
    '{a/b,conf/prod}.txt',
    '@(a/b|conf)/**',
    '{x,{conf/prod,y}}.*',
    'con[f]/**',
    'c?nf/**',
    '+(conf)/**',
    '{conf/,y/}prod.txt',
  ])('%s covers the real path', (path) => {
    expect(decision([deny(path)], 'conf/prod.txt')).toBe('deny');
    expect(decision([deny(path)], 'shared/conf/prod.txt')).toBe('deny');
    expect(decision([deny(path)], 'a.txt')).toBe('allow');
  });

  test('covers a folder with parentheses in its name', () => {
    symlinkSync('shared/conf', join(root, '(app)'));
    expect(decision([deny('(app)/**')], 'shared/conf/prod.txt')).toBe('deny');
  });

  test.for(['*(a/b)/x', '+(a/b|c)', 'x/!(a/b)', 'a[/]b', `${'{a/b,c/d}/'.repeat(12)}x`])(
    '%s is refused, because its links cannot be followed',
    (path) => {
      expect(() => permissionPolicy({ root, rules: [deny(path)] })).toThrow('Cannot use the rule');
      expect(() =>
        permissionPolicy({ root, rules: [deny(path, { decision: 'allow' })] }),
      ).not.toThrow();
    },
  );
});

describe('18.603: attack: many new entries', () => {
  test('do not hide a link from a rule with a wildcard', () => {
    for (let index = 0; index < 2500; index++) symlinkSync('missing', join(root, `a${index}`));
    expect(decision([deny('*/prod.txt')], 'shared/conf/prod.txt')).toBe('deny');
  });

  test('make the policy ask if there are too many to follow', () => {
    for (let index = 0; index < 1100; index++) symlinkSync(`to${index}`, join(root, `a${index}`));
    const policy = permissionPolicy({ root, rules: [deny('*/prod.txt')] });
    expect(decision(policy.rules, 'a.txt')).toBe('ask');
    expect(policy.deniedLinks('bash').tooMany).toBe('*/prod.txt');
  });
});

describe('18.604: attack: a rule with empty parts and dots', () => {
  test.for([
    'a//prod.txt',
    'a/./prod.txt',
    'a/prod.txt/.',
    './/a/prod.txt',
    'a/.//**',
    'a//',
    '.',
    './',
    '././**',
  ])('%s denies the file', async (path) => {
    writeTree(root, { 'a/prod.txt': '' });
    expect(decision([deny(path)], 'a/prod.txt')).toBe('deny');
    const { hide } = await findDeniedPaths(permissionPolicy({ root, rules: [deny(path)] }), 'bash');
    expect(hide).not.toEqual([]);
  });

  test.for(['//shared/conf/prod.txt', '/./shared/**', '/shared//conf/', '//shared/conf/.'])(
    'ROOT%s denies the file',
    async (path) => {
      for (const more of [{}, { exact: true }]) {
        if (more.exact && /[*]|\/$/.test(path)) continue;
        expect(decision([deny(root + path, more)], 'shared/conf/prod.txt')).toBe('deny');
        expect(decision([deny(`/${root}${path}`, more)], 'shared/conf/prod.txt')).toBe('deny');
      }
      const outside = permissionPolicy({ root: join(root, 'other'), rules: [deny(root + path)] });
      expect((await findDeniedPaths(outside, 'bash')).hide).not.toEqual([]);
    },
  );

  test('an answer about the folder itself covers only the folder itself', () => {
    const rule = { path: '.', exact: true, decision: 'deny' } as const;
    expect(decision([rule], 'a.txt')).toBe('allow');
    expect(decision([{ tool: 'write', path: '.', decision: 'allow' }], 'a.txt')).toBe('allow');
    const write = permissionPolicy({ root, rules: [{ path: '.', decision: 'allow' }] });
    expect(write.decide({ tool: 'write', input: { path: 'a.txt' } }).decision).toBe('ask');
  });
});
