import { expect, onTestFinished, test, vi } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { findUnreadable } from '../permissions/read-only/unreadable-files.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { findDeniedPaths } from './hidden-paths.ts';

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
