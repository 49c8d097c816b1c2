import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { everythingIn, temporaryFolder } from '../testing/temporary-folder.ts';
import { folderByName, folderOpener } from './folder.ts';
import { listFolder } from './list-folder.ts';
import { openFile, readContent } from './open-file.ts';
import { resolvePath } from './resolve-path.ts';
import { writeFile } from './write-file.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  mkdirSync(join(root, 'a'));
  mkdirSync(join(root, 'outside'));
  writeFileSync(join(root, 'a', 'file'), 'inside');
  writeFileSync(join(root, 'outside', 'file'), 'outside');
});

/** Resolves a path, then replaces the folder `a` by a link. */
async function placeThatMoves(path: string) {
  const place = await resolvePath(root, path);
  renameSync(join(root, 'a'), join(root, 'kept'));
  symlinkSync('outside', join(root, 'a'));
  return place;
}

const check = () => {};

describe.each([
  ['as this system supports', () => folderOpener(root)],
  ['by its name', () => () => folderByName(root)],
])('a root that is opened %s', (_how, openerOf) => {
  test('can be read, written and listed', async () => {
    const openRoot = openerOf();
    const place = await resolvePath(root, 'a/b/new');
    await writeFile(openRoot, place, Buffer.from('one'), { check });
    await writeFile(openRoot, place, Buffer.from('two'), { sync: true, check });
    const file = await openFile(openRoot, await resolvePath(root, 'a/b/new'));
    expect(Buffer.from((await readContent(file, 10)).bytes).toString()).toBe('two');
    await file.handle.close();
    const { entries } = await listFolder(openRoot, await resolvePath(root, 'a/b'), 10);
    expect(entries).toEqual([{ name: 'new', kind: 'file', size: 3 }]);
  });

  test('follows no link that was created meanwhile', async () => {
    const openRoot = openerOf();
    const place = await placeThatMoves('a/file');
    const before = everythingIn(root);
    await expect(openFile(openRoot, place)).rejects.toMatchObject({ code: 'changed' });
    await expect(writeFile(openRoot, place, Buffer.from('x'), { check })).rejects.toMatchObject({
      code: 'changed',
    });
    await expect(listFolder(openRoot, place, 10)).rejects.toMatchObject({ code: 'changed' });
    expect(everythingIn(root)).toEqual(before);
  });

  test('fails if it is gone', async () => {
    const openRoot = openerOf();
    rmSync(root, { recursive: true });
    await expect(openRoot()).rejects.toThrow(/gone|ENOENT/);
  });
});

test('a folder opened by handle stays the same when its path is replaced', async () => {
  const folder = await folderOpener(root)();
  const a = await folder.enter('a');
  renameSync(join(root, 'a'), join(root, 'kept'));
  symlinkSync('outside', join(root, 'a'));
  const isHeld = process.platform === 'linux';
  expect(readFileSync(a.pathOf('file'), 'utf8')).toBe(isHeld ? 'inside' : 'outside');
  await a.close();
  await folder.close();
});

test('a folder opened by name detects that another file was opened', async () => {
  const folder = await folderByName(join(root, 'a'));
  const handle = await open(join(root, 'outside', 'file'));
  await expect(folder.check('file', handle)).rejects.toMatchObject({ code: 'ESTALE' });
  await handle.close();
  const right = await open(folder.pathOf('file'));
  await folder.check('file', right);
  expect((await right.stat()).ino).toBe(statSync(join(root, 'a/file')).ino);
  await right.close();
});
