import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { everythingIn, temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { writeTool } from './write-tool.ts';

let root: string;
beforeEach(() => {
  root = join(temporaryFolder(), 'root');
  mkdirSync(root);
});

const write = (path: string, content: string) =>
  runTool(writeTool(createWorkspace({ root })), { path, content });

test('it creates a file and its folders', async () => {
  expect(await write('a/b/c.txt', 'one\ntwo')).toMatchObject({
    text: 'Created a/b/c.txt: 2 lines',
    isError: false,
  });
  expect(readFileSync(join(root, 'a/b/c.txt'), 'utf8')).toBe('one\ntwo');
});

test('it replaces a file', async () => {
  writeFileSync(join(root, 'a.txt'), 'long before');
  expect((await write('a.txt', 'é\r\n')).text).toBe('Replaced a.txt: 1 line');
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('é\r\n');
  expect((await write('a.txt', '')).text).toBe('Replaced a.txt: 0 lines');
  expect(readdirSync(root)).toEqual(['a.txt']);
});

test('a link to outside is not written through', async () => {
  writeFileSync(join(root, '../secret'), 'secret');
  symlinkSync('../secret', join(root, 'link'));
  const before = everythingIn(join(root, '..'));
  expect(await write('link', 'x')).toMatchObject({ isError: true });
  expect(await write('../secret', 'x')).toMatchObject({ isError: true });
  expect(everythingIn(join(root, '..'))).toEqual(before);
});

test('a lone surrogate is refused', async () => {
  expect(await write('a.txt', 'a\ud83d')).toMatchObject({
    text: expect.stringContaining('half of a character'),
    isError: true,
  });
  expect(readdirSync(root)).toEqual([]);
});

test('of many concurrent writes, one is complete', async () => {
  const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(50_000));
  await Promise.all(contents.map((content) => write('a.txt', content)));
  expect(contents).toContain(readFileSync(join(root, 'a.txt'), 'utf8'));
  expect(readdirSync(root)).toEqual(['a.txt']);
});

test('the tool declares its name, effects and summary', () => {
  const tool = writeTool(createWorkspace({ root }));
  expect(tool).toMatchObject({ name: 'write', effects: 'external', afterCrash: 'fail' });
  expect(tool.summarize({ path: 'a', content: 'x\ny\n' })).toBe('Write a (2 lines)');
});
