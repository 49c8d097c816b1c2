import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { readProtection, secretNamesIn, writeProtection } from '../permissions/protected-paths.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { findDeniedPaths } from './hidden-paths.ts';
import { watchNames } from './watch-names.ts';

// The sandbox renames a file that the user wrote while a command ran. The new name must not make a secret readable.

/** Replaces a guarded file while a command runs. Returns the folder, and the new name of the file of the user. */
function replaceWhileRunning(name: string) {
  const folder = temporaryFolder();
  writeTree(folder, { [name]: 'before' });
  const path = join(folder, name);
  const file = { content: Buffer.from('before'), mode: 0o600 };
  const watch = watchNames([], [{ path, guard: 'read-only', file }]);
  writeFileSync(join(folder, 'draft'), 'TOKEN');
  renameSync(join(folder, 'draft'), path);
  watch.finish();
  const kept = readdirSync(folder).find((one) => one !== name) ?? '';
  return { folder, kept };
}

/** Creates a protected file while a command runs. */
function createWhileRunning(name: string) {
  const folder = temporaryFolder();
  const watch = watchNames([{ path: join(folder, name), link: undefined }]);
  writeFileSync(join(folder, name), 'TOKEN');
  watch.finish();
  const [kept = ''] = readdirSync(folder);
  return { folder, kept };
}

test.each([
  ['replaced', '.npmrc'],
  ['created', '.npmrc'],
  ['replaced', '.envrc'],
  ['created', `${'long-'.repeat(30)}.env`],
  ['created', `${'long-'.repeat(49)}.env`],
])('18.532: attack: a secret that was %s gets a name that is no secret: %s', async (how, name) => {
  const make = how === 'created' ? createWhileRunning : replaceWhileRunning;
  const { folder, kept } = make(name);
  expect(kept).toContain('.blocked-by-sandbox-');
  expect(readProtection(kept)?.why).toBe('secret');
  expect(readProtection(kept.toUpperCase())?.why).toBe('secret');
  expect(secretNamesIn(folder)(kept)).toBe(true);
  const free = permissionPolicy({ root: folder, freeReading: true });
  expect(free.mayRead({ path: kept, kind: 'read' })).toBe(false);
  const [old = ''] = kept.split('.blocked-by-sandbox-');
  for (const path of [`{${old},*.env}`, `${folder}/{${old},*.env}`]) {
    const policy = permissionPolicy({ root: folder, rules: [{ path, decision: 'deny' }] });
    expect(policy.decide({ tool: 'read', input: { path: kept } }).decision).toBe('deny');
    expect((await findDeniedPaths(policy, 'bash')).hide).toContain(join(folder, kept));
  }
  // The name of the file is not a way to allow it.
  const rules = [{ tool: 'read', path: '*', decision: 'allow' }] as const;
  const allowing = permissionPolicy({ root: folder, rules });
  expect(allowing.decide({ tool: 'read', input: { path: kept } }).decision).toBe('ask');
});

test('18.532: a renamed file without a secret stays readable, and code stays protected', () => {
  const { folder, kept } = createWhileRunning('.mcp.json');
  expect(readProtection(kept)).toBeUndefined();
  expect(writeProtection(kept)?.why).toBe('runs_code');
  const policy = permissionPolicy({ root: folder });
  expect(policy.mayRead({ path: kept, kind: 'read' })).toBe(true);
  expect(readProtection('notes,v')).toBeUndefined();
  expect(readProtection('RCS/.env,v')?.why).toBe('secret');
  expect(readProtection('.ssh.blocked-by-sandbox-1/a')?.why).toBe('secret');
});
