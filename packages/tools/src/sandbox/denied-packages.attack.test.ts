import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { unaskedReading } from './unasked-reading.ts';

// A rule denies a path in `node_modules`. A command that needs no approval must not be able to read the path
// in any way.

async function hiddenBy(rules: readonly PermissionRule[], command: string) {
  const root = temporaryFolder();
  await writeTree(root, {
    'node_modules/p/k.txt': 'KEY',
    'node_modules/p/deep/k.txt': 'KEY',
    'node_modules/q/a.txt': 'a',
    'node_modules/q/.env': 'PUBLIC=1',
    'sub/node_modules/p/k.txt': 'KEY',
    'src/a.ts': 'a',
  });
  symlinkSync('node_modules/p/k.txt', join(root, 'link'));
  symlinkSync('node_modules', join(root, 'packages'));
  const reading = unaskedReading(() => permissionPolicy({ root, rules, freeReading: true }));
  const hidden = await reading.hiddenPaths({ tool: 'bash', input: { command } });
  return hidden?.map((path) => path.slice(root.length + 1)).toSorted();
}

const rules: readonly PermissionRule[] = [{ path: '**/node_modules/p/**', decision: 'deny' }];

test.for([
  'cat node_modules/*/k.txt',
  'cat */p/k.txt',
  'cat packages/?/k.txt',
  'grep -r KEY node_modules',
  'grep -rn KEY .',
  'rg -u KEY',
  'cd node_modules && cat ./p/k.txt',
  'yarn --version',
  'jq -n 1',
])('18.103: %s does not see a denied package', async (command) => {
  const hidden = await hiddenBy(rules, command);
  // Undefined means that the user is asked.
  if (hidden !== undefined) expect(hidden).toEqual(['node_modules/p', 'sub/node_modules/p']);
});

test.for(['cat link', 'cat packages/p/k.txt', 'head ./packages/p/deep/k.txt'])(
  '18.103: %s follows a link to a denied package and is asked about',
  async (command) => {
    expect(await hiddenBy(rules, command)).toBe(undefined);
  },
);

test('18.103: a rule that asks counts too', async () => {
  const asks: readonly PermissionRule[] = [{ path: '*.txt', decision: 'ask' }];
  expect(await hiddenBy(asks, 'grep -r KEY .')).toContain('node_modules/p/k.txt');
});

test('18.103: lines that cannot reach packages do not search them', async () => {
  expect(await hiddenBy(rules, 'cat src/a.ts | head -5')).toEqual([]);
});

test('files in packages that only look like secrets are shown, because packages are public', async () => {
  expect(await hiddenBy([], 'grep -r a node_modules')).toEqual([]);
  const other: readonly PermissionRule[] = [{ path: 'src/**', decision: 'deny' }];
  expect(await hiddenBy(other, 'grep -r a node_modules')).toEqual(['src']);
});
