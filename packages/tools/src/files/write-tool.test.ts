import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import { beforeEach, expect, test } from 'vitest';
import { everythingIn, temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { editTool } from './edit-tool.ts';
import { readTool } from './read-tool.ts';
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

test('23.8: it does not replace lines that were added since the agent read the file', async () => {
  const path = join(root, 'a.txt');
  writeFileSync(path, 'one\n');
  const workspace = createWorkspace({ root });
  await runTool(readTool(workspace), { path: 'a.txt' });
  writeFileSync(path, 'one\nadded by the user\n');
  const refused = await write('a.txt', 'two\n');
  expect(refused).toMatchObject({ isError: true, thrown: { code: 'changed' } });
  expect(refused.text).toMatch(/changed it since it was read.*Read it again/);
  expect(readFileSync(path, 'utf8')).toBe('one\nadded by the user\n');
  const elsewhere = { session: sessionId('another') };
  const input = { path: 'a.txt', content: 'of another session\n' };
  expect((await runTool(writeTool(workspace), input, elsewhere)).isError).toBe(false);
  await runTool(readTool(workspace), { path: 'a.txt' });
  expect((await write('a.txt', 'two\n')).text).toBe('Replaced a.txt: 1 line');
  expect((await write('a.txt', 'three\n')).text).toBe('Replaced a.txt: 1 line');
  rmSync(path);
  expect((await write('a.txt', 'four\n')).text).toBe('Created a.txt: 1 line');
});

test('23.8: an edit counts as seen only if the agent had seen the file before it', async () => {
  const path = join(root, 'b.txt');
  const workspace = createWorkspace({ root });
  const edit = (old_text: string, new_text: string) =>
    runTool(editTool(workspace), { path: 'b.txt', edits: [{ old_text, new_text }] });
  writeFileSync(path, 'one\n');
  await runTool(readTool(workspace), { path: 'b.txt' });
  await edit('one', 'two');
  expect((await write('b.txt', 'three\n')).isError).toBe(false);
  writeFileSync(path, 'three\nadded by the user\n');
  await edit('three', 'four');
  expect((await write('b.txt', 'five\n')).isError).toBe(true);
  expect(readFileSync(path, 'utf8')).toBe('four\nadded by the user\n');
});
