import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { findDeniedPaths } from '../sandbox/hidden-paths.ts';
import { grepTool } from '../search/grep-tool.ts';
import { policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { movedRules } from './moved-rules.ts';
import { permissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';

// The user denies a path as they type it, and the path leads through a symbolic link.

let base: string;
let root: string;
beforeEach(() => {
  base = temporaryFolder();
  root = join(base, 'real/project');
  writeTree(root, { 'secret.txt': 'KEY', 'a.txt': 'KEY', 'shared/conf/prod.key': 'KEY' });
  writeTree(base, {
    'elsewhere/prod.key': 'KEY',
    'elsewhere/deep/x.key': 'KEY',
    'elsewhere/b': '',
  });
  symlinkSync('real', join(base, 'link'));
});
afterEach(() => void vi.useRealTimers());

const deny = (path: string, more: Partial<PermissionRule> = {}): PermissionRule => ({
  ...{ path, decision: 'deny' },
  ...more,
});
const ruling = async (path: string, rules: readonly PermissionRule[]) =>
  (await policyRuling(root, ['read', { path }], { rules })).decision;
const hidden = (rules: readonly PermissionRule[]) =>
  findDeniedPaths(permissionPolicy({ root, rules }), 'bash');
const link = (target: string, path: string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
};

test.for<readonly [string, Partial<PermissionRule>]>([
  ['link/project/secret.txt', {}],
  ['link/project/secret.txt', { exact: true }],
  ['link/project/s*.txt', {}],
  ['l?nk/project/secret.txt', {}],
  ['*/project/secret.txt', {}],
])('18.515: attack: an absolute rule denies %s', async ([path, more]) => {
  const rules = [deny(`${base}/${path}`, more)];
  expect(await ruling('secret.txt', rules)).toBe('deny');
  expect(await ruling('a.txt', rules)).toBe('allow');
  expect((await hidden(rules)).hide).toEqual([join(root, 'secret.txt')]);
  const exclude = permissionPolicy({ root, rules }).deniedPaths('grep');
  const found = await runTool(grepTool({ workspace: createWorkspace({ root }), exclude }), {
    pattern: 'KEY',
  });
  expect(found.text).toContain('a.txt');
  expect(found.text).not.toContain('secret.txt');
});

test.for([
  ...['../other/**', 'a/../b', '/srv/../etc/x', '~/notes/**', '~'],
  ...['$HOME/notes/**', `$\{PWD}/a`],
])('18.521: attack: a rule that denies %s could never match, so it is refused', (path) => {
  for (const decision of ['deny', 'ask'] as const)
    expect(() => permissionPolicy({ root, rules: [deny(path, { decision })] })).toThrow(
      'Write the absolute path',
    );
  expect(() => permissionPolicy({ root, rules: [deny('./~/notes')] })).not.toThrow();
});

test('18.515: attack: an absolute rule that asks', async () => {
  const rules = [deny(join(base, 'link/project/s*.txt'), { decision: 'ask' })];
  expect(await ruling('secret.txt', rules)).toBe('ask');
  expect(await ruling('a.txt', rules)).toBe('allow');
});

test('18.515: attack: a rule for a folder outside of the workspace, and the user changes the link', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  writeTree(base, { 'v1/k': '', 'v2/k': '' });
  symlinkSync('v1', join(base, 'current'));
  const policy = permissionPolicy({ root, rules: [deny(`${base}/current/**`)] });
  const mayRead = (path: string) =>
    policy.mayReach('read', { path: join(base, path), kind: 'read' });
  expect([mayRead('v1/k'), mayRead('v2/k')]).toEqual([false, true]);
  rmSync(join(base, 'current'));
  symlinkSync('v2', join(base, 'current'));
  vi.advanceTimersByTime(1001);
  expect([mayRead('v1/k'), mayRead('v2/k')]).toEqual([true, false]);
});

test('18.516: attack: a worktree shows what a rule denies through a link', () => {
  const copy = join(base, 'copy');
  const policy = (rules: readonly PermissionRule[]) =>
    permissionPolicy({ root: copy, rules: movedRules(rules, root, copy) });
  for (const exact of [false, true]) {
    const rules = [deny(join(base, 'link/project/secret.txt'), { exact })];
    expect(policy(rules).decide({ tool: 'read', input: { path: 'secret.txt' } }).decision).toBe(
      'deny',
    );
  }
});

test.for([
  ['conf/*.key', '../../elsewhere', ['elsewhere/prod.key']],
  ['c*/*.key', '../../elsewhere', ['elsewhere/prod.key']],
  ['conf/deep/x.key', '../../elsewhere', ['elsewhere/deep/x.key']],
  [
    '**/conf/p*.key',
    '../../elsewhere',
    ['elsewhere/prod.key', 'real/project/shared/conf/prod.key'],
  ],
  ['**/conf/**/x.key', '../../elsewhere', ['elsewhere/deep/x.key']],
  ['conf/prod*', 'shared/conf', ['real/project/shared/conf/prod.key']],
  ['**/conf/nested/*.key', 'a', ['elsewhere/prod.key']],
  ['{conf,x}/*.key', 'shared/conf', ['real/project/shared/conf/prod.key']],
] as const)(
  '18.517: attack: %s is denied, and conf is a link to %s',
  async ([path, target, files]) => {
    const isChain = target === 'a';
    if (isChain) {
      mkdirSync(join(root, 'a'));
      link('../../../elsewhere', 'a/nested');
    }
    link(target, 'conf');
    const { hide, gap } = await hidden([deny(path)]);
    expect([...new Set(hide)]).toEqual(files.map((file) => join(base, file)));
    expect(gap).toBeUndefined();
  },
);

test('18.517: attack: a denied path below a link has a group with a slash', async () => {
  link('../../elsewhere', 'conf');
  const { hide, gap } = await hidden([deny('{conf/prod,y}*')]);
  expect(hide).toEqual([join(base, 'elsewhere/prod.key')]);
  expect(gap).toBeUndefined();
});

test('18.518: links of a project do not hide programs of the system, and loops of links end', async () => {
  link('/usr', 'sys');
  link('.', 'a/loop');
  link('../..', 'a/up');
  const { hide, gap } = await hidden([deny('sys/bin/**'), deny('**/a/*/a/*/a/secret.txt')]);
  expect(gap).toContain('programs of the system');
  expect(hide).toEqual([]);
});

test('18.518: links in the workspace need no second search for a rule of any folder', async () => {
  link('shared', 'node_modules/shared');
  const { hide, gap } = await hidden([deny('**/prod.key')]);
  expect(hide).toEqual([join(root, 'shared/conf/prod.key')]);
  expect(gap).toBeUndefined();
});
