import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { lsTool } from './ls-tool.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const ls = (path?: string) =>
  runTool(lsTool(createWorkspace({ root })), path === undefined ? {} : { path });

test('folders come first, then the rest by name, hidden ones and sizes included', async () => {
  for (const name of ['src', '.git', 'Docs']) mkdirSync(join(root, name));
  writeFileSync(join(root, 'b.txt'), 'x');
  writeFileSync(join(root, '.env'), 'x'.repeat(1234));
  writeFileSync(join(root, 'a\nb'), '');
  symlinkSync('../..', join(root, 'link'));
  spawnSync('mkfifo', [join(root, 'fifo')]);
  expect(await ls()).toEqual({
    text: [
      '.git/',
      'Docs/',
      'src/',
      '.env  1.2 kB',
      '"a\\nb"  0 bytes',
      'b.txt  1 byte',
      'fifo  (not a regular file)',
      'link -> ../..',
    ].join('\n'),
    isError: false,
    updates: [],
  });
});

test('an empty folder is reported as empty', async () => {
  mkdirSync(join(root, 'src'));
  expect((await ls('src')).text).toBe('src is empty');
});

test("git's own folder is not listed", async () => {
  mkdirSync(join(root, '.git/objects'), { recursive: true });
  symlinkSync('.git', join(root, 'alias'));
  for (const path of ['.git', '.git/objects', 'alias']) {
    expect((await ls(path)).text).toContain('Use git commands instead');
  }
});

test('a long list is cut, with the number of remaining entries', async () => {
  for (let index = 0; index < 510; index++) writeFileSync(join(root, `f${1000 + index}`), '');
  const lines = (await ls()).text.split('\n');
  expect(lines).toHaveLength(501);
  expect(lines[0]).toBe('f1000  0 bytes');
  expect(lines.at(-1)).toBe('(10 more. Use glob to find some of them)');
});

test('a file, a path outside and a missing path are refused', async () => {
  writeFileSync(join(root, 'file'), '');
  symlinkSync('..', join(root, 'up'));
  expect(await ls('file')).toMatchObject({
    isError: true,
    text: expect.stringContaining('is a file'),
  });
  expect(await ls('up')).toMatchObject({ isError: true, text: expect.stringContaining('outside') });
  expect(await ls('fil')).toMatchObject({
    isError: true,
    text: expect.stringContaining('Similar: file'),
  });
});
