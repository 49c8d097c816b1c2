import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { findSecretBelow } from '../permissions/read-only/find-secret.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { findDeniedPaths } from './hidden-paths.ts';
import { unaskedReading } from './unasked-reading.ts';

// A file whose name is not valid UTF-8 cannot be hidden, because its decoded path does not lead to the file.

function folderWithSecret(context: { skip(reason: string): never }): string {
  const root = temporaryFolder();
  const folder = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x61, 0xff])]);
  try {
    mkdirSync(folder);
  } catch {
    return context.skip('The file system accepts only text as names');
  }
  writeFileSync(Buffer.concat([folder, Buffer.from('/.env')]), 'KEY=hush');
  return root;
}

test('attack 5: a folder whose name is no text keeps a secret from being hidden', async (context) => {
  const root = folderWithSecret(context);
  const policy = permissionPolicy({ root, freeReading: true });
  const call = { tool: 'bash', input: { command: 'cat */.env*' } };
  expect(await unaskedReading(() => policy).hiddenPaths(call)).toBe(undefined);
});

test('attack 5: a search finds a secret in a folder whose name is no text', async (context) => {
  const root = folderWithSecret(context);
  const { mayRead } = permissionPolicy({ root, freeReading: true });
  expect(await findSecretBelow(root, { root, mayRead })).toContain('cannot be checked');
});

test('a folder that this user may not list is hidden without a question', async () => {
  const root = temporaryFolder();
  writeTree(root, { 'a.txt': '', 'closed/b': '' });
  chmodSync(join(root, 'closed'), 0);
  const policy = permissionPolicy({ root, freeReading: true });
  const call = { tool: 'bash', input: { command: 'head *.txt' } };
  expect(await unaskedReading(() => policy).hiddenPaths(call)).toEqual(
    // Root can list every folder, so only other users get this entry.
    process.getuid?.() === 0 ? [] : [join(root, 'closed')],
  );
  expect(await findSecretBelow(root, { root, mayRead: policy.mayRead })).toBe(undefined);
  chmodSync(join(root, 'closed'), 0o700);
});

test('18.193: attack: a name that is no text keeps denied files of other folders from being hidden', async (context) => {
  const root = folderWithSecret(context);
  writeTree(root, { 'private.txt': 'hush', 'z/private.txt': 'hush' });
  const rules = [{ path: 'private.txt', decision: 'deny' }] as const;
  const found = await findDeniedPaths(permissionPolicy({ root, rules }), 'bash');
  expect(found.gap).toContain('cannot be checked');
  expect(found.hide).toEqual([join(root, 'private.txt'), join(root, 'z/private.txt')]);
});

test('18.193: attack: many denied files below keep a denied file of the root from being hidden', async () => {
  const root = temporaryFolder();
  const many = Array.from({ length: 510 }, (_, index) => [`many/${index}/private.txt`, '']);
  writeTree(root, { ...Object.fromEntries(many), 'private.txt': 'hush' });
  const rules = [{ path: 'private.txt', decision: 'deny' }] as const;
  const found = await findDeniedPaths(permissionPolicy({ root, rules }), 'bash');
  expect(found.gap).toContain('more than 500');
  expect(found.hide).toContain(join(root, 'private.txt'));
  expect(found.hide).toHaveLength(500);
});

test('18.188: attack: a denied link to programs of the system does not hide the programs', async () => {
  const root = temporaryFolder();
  symlinkSync('/usr', join(root, 'vault'));
  const rules = [{ path: 'vault/**', decision: 'deny' }] as const;
  const found = await findDeniedPaths(permissionPolicy({ root, rules }), 'bash');
  expect(found).toMatchObject({ hide: [], gap: expect.stringContaining('programs of the system') });
});
