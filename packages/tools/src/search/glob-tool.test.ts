import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { type GlobInput, globTool } from './glob-tool.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const glob = (pattern: string, input: Partial<GlobInput> = {}) =>
  runTool(globTool({ workspace: createWorkspace({ root }) }), { pattern, ...input });
const byName = async (pattern: string, path = '.') =>
  (await glob(pattern, { order: 'name', path })).text.split('\n');

test('glob has no effects and may be replayed', () => {
  const tool = globTool({ workspace: createWorkspace({ root }) });
  expect(tool).toMatchObject({ name: 'glob', effects: 'none', afterCrash: 'repeat' });
});

describe('glob', () => {
  test('finds names in any folder, and paths below the given folder', async () => {
    writeTree(root, { 'a.ts': '', 'src/b.ts': '', 'src/c/d.tsx': '', 'src/.e.ts': '', 'x.md': '' });
    expect(await byName('*.ts')).toEqual(['a.ts', 'src/.e.ts', 'src/b.ts']);
    expect(await byName('src/**/*.{ts,tsx}')).toEqual(['src/.e.ts', 'src/b.ts', 'src/c/d.tsx']);
    expect(await byName('./*/*.ts')).toEqual(['src/.e.ts', 'src/b.ts']);
    expect(await byName('c/*', 'src')).toEqual(['src/c/d.tsx']);
    expect(await byName('src/')).toEqual(['src/.e.ts', 'src/b.ts', 'src/c/d.tsx']);
    expect(await byName('*.rs')).toEqual(['No file matches.']);
  });

  test('finds folders that have parentheses and brackets in their names', async () => {
    writeTree(root, {
      'app/(auth)/a.ts': '',
      'app/[id]/b.ts': '',
      'app/auth/c.ts': '',
      'd.ts': '',
    });
    expect(await byName('app/(auth)/*')).toEqual(['app/(auth)/a.ts']);
    expect(await byName('app/[id]/*')).toEqual(['app/[id]/b.ts']);
    expect(await byName('@(a|d).ts')).toEqual(['app/(auth)/a.ts', 'd.ts']);
    expect(await byName('./')).toHaveLength(4);
  });

  test('returns the newest first, and files of the same time by name', async () => {
    writeTree(root, { old: '', b: '', a: '', new: '' });
    for (const [name, seconds] of Object.entries({ old: 100, a: 200, b: 200, new: 300 })) {
      utimesSync(join(root, name), seconds, seconds);
    }
    expect((await glob('*')).text).toBe('new\na\nb\nold');
  });

  test('sorts before it applies the limit, and returns the total number', async () => {
    writeTree(root, { a: '', b: '', c: '' });
    for (const [name, seconds] of Object.entries({ a: 100, b: 300, c: 200 })) {
      utimesSync(join(root, name), seconds, seconds);
    }
    const { text, value } = await glob('*', { limit: 2 });
    expect(text).toMatch(/^b\nc\n\n2 of 3 files are shown\./);
    expect(value).toEqual({ files: 3, isComplete: false });
  });

  test('leaves out ignored files', async () => {
    writeTree(root, { '.gitignore': 'dist', 'dist/a.js': '', 'b.js': '' });
    expect(await byName('**/*.js')).toEqual(['b.js']);
    expect(await byName('*.js', 'dist')).toEqual(['dist/a.js']);
  });

  test('fits its output length', async () => {
    const names = Array.from({ length: 400 }, (_, at) => `${'n'.repeat(200)}${at}`);
    writeTree(root, Object.fromEntries(names.map((name) => [name, ''])));
    const { text } = await glob('*', { limit: 2000 });
    expect(text.length).toBeLessThanOrEqual(30_000);
    expect(text).toMatch(/\n\n\d+ of 400 files are shown\.$/);
  });

  test.each(['/etc/*', '../*', 'a/../../*'])(
    'refuses %s, which leads outside path',
    async (pattern) => {
      expect(await glob(pattern)).toMatchObject({
        isError: true,
        text: expect.stringMatching('relative to path'),
      });
    },
  );
});
