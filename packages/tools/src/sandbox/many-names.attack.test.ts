import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { findUnreadable } from '../permissions/read-only/unreadable-files.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { findDeniedPaths } from './hidden-paths.ts';
import { watchNames } from './watch-names.ts';

// A command or a repository creates a folder with many names. The search for denied paths runs before each command.

const count = 500;

function policyWithNames() {
  const root = temporaryFolder();
  const names = Array.from({ length: count }, (_, at) => [`d/a${at}.txt`, ''] as const);
  writeTree(root, { ...Object.fromEntries(names), 'd/x.key': '', 'd/sub/.env': '' });
  const rules = ['*.key', '**/sub/.env', 'none/**'].map(
    (path) => ({ path, decision: 'deny' }) as const,
  );
  return permissionPolicy({ root, rules });
}

test('18.699: attack: many names in a folder make each rule start again for each name', async () => {
  const policy = policyWithNames();
  let checked = 0;
  const mayReach: typeof policy.mayReach = (tool, path) => {
    checked++;
    return policy.mayReach(tool, path);
  };
  const { hide, gap } = await findDeniedPaths({ ...policy, mayReach }, 'bash');
  expect(hide.toSorted()).toEqual(['d/sub/.env', 'd/x.key'].map((at) => `${policy.root}/${at}`));
  expect(gap).toBeUndefined();
  expect(checked).toBeLessThan(count / 10);
});

test.each([
  ['denied', (policy: ReturnType<typeof policyWithNames>) => findDeniedPaths(policy, 'bash')],
  ['unreadable', (policy: ReturnType<typeof policyWithNames>) => findUnreadable(policy, true)],
])('18.700: attack: the search for %s paths stops all other work', async (_, search) => {
  const policy = policyWithNames();
  // Each look at the clock is 1 ms later, as on a slow machine.
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now++);
  onTestFinished(() => void vi.restoreAllMocks());
  let turns = 0;
  let isOver = false;
  const other = () => {
    turns++;
    if (!isOver) setImmediate(other);
  };
  other();
  await search(policy);
  isOver = true;
  expect(turns).toBeGreaterThan(count / 10);
});

/** Watches a folder for new names without events, because another path is in a folder that does not exist. */
function pollNames(isProtected: (name: string) => boolean) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const folder = temporaryFolder();
  writeTree(folder, { a: '' });
  const missing = { path: join(folder, 'missing/.git'), link: undefined };
  const watch = watchNames([missing], [], new Map(), { folder, isProtected });
  onTestFinished(() => void watch.finish());
  return { folder, watch };
}

/** Lets every folder seem to contain further names, because a test cannot create so many files. */
function listFurther(further: () => readonly string[]): void {
  const { readdirSync } = fs;
  const list = (path: fs.PathLike) => [...readdirSync(path), ...further()];
  vi.spyOn(fs, 'readdirSync').mockImplementation(list as unknown as typeof readdirSync);
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
}

test('18.1760: attack: many names make each check of a folder slow', () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  let checks = 0;
  listFurther(() => {
    now += 90;
    checks++;
    return [];
  });
  pollNames(() => false);
  const before = checks;
  vi.advanceTimersByTime(1700);
  expect(checks).toBe(before);
  vi.advanceTimersByTime(200);
  expect(checks).toBe(before + 1);
});

test('18.1761: attack: a command creates more names than the sandbox can list again and again', () => {
  vi.spyOn(performance, 'now').mockReturnValue(0);
  let names: readonly string[] = [];
  listFurther(() => names);
  const { folder, watch } = pollNames(() => false);
  names = Array.from({ length: 150_000 }, (_, at) => `n${at}`);
  vi.advanceTimersByTime(50);
  expect(watch.blocked.aborted).toBe(false);
  names = [...names, ...names];
  vi.advanceTimersByTime(50);
  expect(watch.blocked.aborted).toBe(true);
  expect(watch.finish().join()).toContain(
    `created more than 200000 names directly in ${folder}. The sandbox must list this folder`,
  );
});
