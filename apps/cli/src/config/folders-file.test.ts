import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { readFoldersFile, rememberRule } from './folders-file.ts';

const folder = temporaryFolder('folders');
let count = 0;
let foldersFile: string;
beforeEach(() => {
  foldersFile = join(folder(), `${++count}`, 'folders.json');
});
const allow = (tool: string) => ({ tool, decision: 'allow' }) as const;

test('what is decided at the same time is all kept', async () => {
  const tools = Array.from({ length: 20 }, (_, index) => `tool_${index}`);
  await Promise.all(tools.map((tool) => rememberRule({ foldersFile }, '/here', allow(tool))));
  const { '/here': here } = await readFoldersFile(foldersFile);
  expect(here?.allow?.toSorted()).toEqual(tools.toSorted());
  expect(existsSync(`${foldersFile}.lock`)).toBe(false);
});

test('a process that died while it wrote is not waited for', async () => {
  mkdirSync(join(foldersFile, '..'), { recursive: true });
  writeFileSync(`${foldersFile}.lock`, '');
  utimesSync(`${foldersFile}.lock`, 1, 1);
  await rememberRule({ foldersFile }, '/here', allow('bash'));
  expect(await readFoldersFile(foldersFile)).toEqual({ '/here': { allow: ['bash'] } });
});

test('a folder that cannot be written to is an error', async () => {
  writeFileSync(join(folder(), 'file'), '');
  const remembered = rememberRule({ foldersFile: join(folder(), 'file/x') }, '/', allow('bash'));
  await expect(remembered).rejects.toMatchObject({
    code: 'bad_config',
    message: expect.stringContaining('Cannot write'),
  });
});
