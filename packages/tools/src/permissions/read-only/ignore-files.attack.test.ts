import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { commandRuling } from '../../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';

// A hostile repository makes ripgrep search hidden files. Ripgrep omits hidden files, except for files that an
// ignore file includes with `!`.

let outer: string;
let root: string;
beforeEach(() => {
  outer = temporaryFolder();
  root = join(outer, 'work');
  mkdirSync(root);
  writeTree(root, { '.env': 'KEY=hush', 'src/a.ts': 'KEY', '.secrets/token': 'KEY=hush' });
});

test('rg needs no question if no ignore file includes hidden files', async () => {
  writeTree(root, { '.gitignore': 'dist\n# !.env\n\\!x\n', '.git/info/exclude': '*.log\n' });
  for (const command of ['rg KEY', 'rg KEY src', 'rg -n KEY .'])
    expect(await commandRuling(root, command), command).toBe('allow');
});

test.for([
  ['.ignore', '!.env\n'],
  ['.gitignore', '*.log\r\n!.*\r\n'],
  ['.rgignore', '\uFEFF!.env'],
  ['.git/info/exclude', '!.secrets/'],
  ['.ignore', `${'#'.repeat(2_000_000)}\n`],
] as const)('attack 45: rg asks if %s can include a hidden secret', async ([name, text]) => {
  writeTree(root, { [name]: text });
  for (const command of ['rg KEY', 'rg KEY .', 'ls && rg -i key'])
    expect(await commandRuling(root, command), command).toBe('ask');
});

test('attack 45: rg asks if the ignore file is in a folder above the searched folder', async () => {
  writeTree(outer, { '.ignore': '!.env\n' });
  expect(await commandRuling(root, 'rg KEY')).toBe('ask');
});

test('attack 45: rg asks if the ignore file and the secret are in a folder below', async () => {
  writeTree(root, { 'app/.ignore': '!.env\n', 'app/.env': 'KEY=hush' });
  expect(await commandRuling(root, 'rg KEY')).toBe('ask');
  expect(await commandRuling(root, 'rg KEY app')).toBe('ask');
  expect(await commandRuling(root, 'rg KEY src')).toBe('allow');
});

test('attack 45: rg asks if an ignore file is a link, or if the repository is in a different folder', async () => {
  writeTree(root, { 'list.txt': '!.env' });
  symlinkSync('list.txt', join(root, '.ignore'));
  expect(await commandRuling(root, 'rg KEY')).toBe('ask');
  const tree = join(outer, 'tree');
  mkdirSync(tree);
  writeTree(tree, { '.git': 'gitdir: ../other\n', '.env': 'KEY=hush' });
  expect(await commandRuling(tree, 'rg KEY')).toBe('ask');
});

test('an exception is harmless if no hidden file is secret', async () => {
  const plain = join(outer, 'plain');
  mkdirSync(plain);
  writeTree(plain, { '.gitignore': '.env\n!.env.example\n', '.env.example': 'KEY=' });
  expect(await commandRuling(plain, 'rg KEY')).toBe('allow');
});
