import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { SandboxError } from '../../contract/sandbox.ts';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';
import { PackageRepositories } from './package-repositories.ts';
import { RepositorySearch } from './repository-search.ts';

let root: string;
let packages: PackageRepositories;

beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'node_modules/x/a.js': '', 'node_modules/y/.git/config': '' });
  packages = new PackageRepositories(new RepositorySearch());
});

const found = async () => (await packages.find(root)).map(({ folder }) => folder);

test('18.76: a repository that was there before the first command is found', async () => {
  expect(await found()).toEqual([join(root, 'node_modules/y')]);
});

test('18.76: a repository that nobody checked is not found by the next command', async () => {
  await found();
  mkdirSync(join(root, 'node_modules/x/.git'));
  expect(await found()).toEqual([join(root, 'node_modules/y')]);
});

test('18.76: a repository that was removed is not found', async () => {
  await found();
  rmSync(join(root, 'node_modules/y/.git'), { recursive: true });
  expect(await found()).toEqual([]);
});

test('18.76: the next command waits for a check, and reports what it found', async () => {
  await found();
  const order: string[] = [];
  const check = Promise.withResolvers<void>();
  const first = await packages.checkAfter(root, 0, async (survey) => {
    await check.promise;
    const all = await survey([join(root, 'node_modules')]);
    order.push('checked');
    return { ...all, notes: ['renamed'] };
  });
  expect(first).toEqual([]);
  const next = found().then(() => order.push('started'));
  check.resolve();
  await Promise.all([next, packages.settled()]);
  expect(order).toEqual(['checked', 'started']);
  const second = await packages.checkAfter(root, 60_000, async () => ({ found: [], notes: ['b'] }));
  expect(second).toEqual(['renamed', 'b']);
});

test('18.76: a workspace that could not be checked is searched again, and accepts nothing new', async () => {
  await found();
  const problem = new SandboxError('cannot_confine', 'unreadable');
  await packages.checkAfter(root, 60_000, async () => ({ found: [], problem, notes: [] }));
  mkdirSync(join(root, 'node_modules/x/.git'));
  expect(await found()).toEqual([]);
});
