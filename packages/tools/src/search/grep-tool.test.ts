import { execFileSync } from 'node:child_process';
import { open, symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { type GrepInput, grepTool } from './grep-tool.ts';
import type { SearchToolOptions } from './search-options.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const tool = (options: Partial<SearchToolOptions> = {}) =>
  grepTool({ workspace: createWorkspace({ root }), ...options });
const grep = (
  input: Partial<GrepInput> & { readonly pattern: string },
  options: Partial<SearchToolOptions> = {},
) => runTool(tool(options), { ...input } as never);

test('grep has no effects and may be replayed', () => {
  expect(tool()).toMatchObject({ name: 'grep', effects: 'none', afterCrash: 'repeat' });
});

describe('grep', () => {
  test('shows the lines that match under the path of their file, in the order of paths', async () => {
    writeTree(root, { 'b.txt': 'no\nthe fox\r\n', 'a/c.txt': 'fox 1\n\nfox 2', 'd.txt': 'none' });
    const { text, value, isError } = await grep({ pattern: 'fo[x]' });
    expect(text).toBe('a/c.txt\n1:fox 1\n--\n3:fox 2\n\nb.txt\n2:the fox');
    expect(value).toEqual({ files: 2, matches: 3, isComplete: true });
    expect(isError).toBe(false);
  });

  test('shows context lines once, with a mark where lines are left out', async () => {
    const lines = ['1', '2', 'x 3', '4', 'x 5', '6', '7', '8', '9', 'x 10'];
    writeTree(root, { f: lines.join('\n') });
    expect((await grep({ pattern: 'x', context: 1 })).text).toBe(
      ['f', '2-2', '3:x 3', '4-4', '5:x 5', '6-6', '--', '9-9', '10:x 10'].join('\n'),
    );
  });

  test('can list only the files, or the number of matches of each', async () => {
    writeTree(root, { a: 'x\nx\n', b: 'y', c: 'x' });
    expect((await grep({ pattern: 'x', mode: 'files' })).text).toBe('a\nc');
    expect((await grep({ pattern: 'x', mode: 'count' })).text).toBe('a:2\nc:1');
  });

  test('supports literal text and ignoring letter case', async () => {
    writeTree(root, { f: 'a.b(c)[d]{e}^$|\\*+?/-\naxb\nA.B(C)' });
    const literal = { pattern: 'a.b(c)[d]{e}^$|\\*+?/-', literal: true };
    expect((await grep({ ...literal, mode: 'count' })).text).toBe('f:1');
    expect((await grep({ pattern: 'a.b(', literal: true, ignore_case: true })).value).toMatchObject(
      {
        matches: 2,
      },
    );
    expect((await grep({ pattern: 'a.b' })).value).toMatchObject({ matches: 2 });
    expect((await grep({ pattern: '(?i)a.b' })).value).toMatchObject({ matches: 3 });
  });

  test('matches whole characters, and accepts escapes that are invalid in Unicode mode', async () => {
    writeTree(root, { f: 'a😀b\na-b' });
    expect((await grep({ pattern: 'a.b' })).value).toMatchObject({ matches: 2 });
    expect((await grep({ pattern: 'a\\-b' })).value).toMatchObject({ matches: 1 });
  });

  test('searches only files that match the glob', async () => {
    writeTree(root, { 'a.ts': 'x', 'b.md': 'x', 'src/c.ts': 'x', 'src/deep/d.ts': 'x' });
    const files = async (glob: string, path = '.') =>
      (await grep({ pattern: 'x', mode: 'files', glob, path })).text.split('\n');
    expect(await files('*.ts')).toEqual(['a.ts', 'src/c.ts', 'src/deep/d.ts']);
    expect(await files('src/*.ts')).toEqual(['src/c.ts']);
    expect(await files('deep/**', 'src')).toEqual(['src/deep/d.ts']);
    expect(await files('!*.ts')).toEqual(['b.md']);
    expect(await files('*.{md,ts}', 'b.md')).toEqual(['b.md']);
  });

  test('leaves out ignored and excluded files, but searches an ignored file that is named', async () => {
    writeTree(root, { '.gitignore': 'out', 'out/a': 'x', 'secret/key': 'x', b: 'x' });
    const options = { exclude: ['secret/**'] };
    expect((await grep({ pattern: 'x', mode: 'files' }, options)).text).toBe('b');
    expect((await grep({ pattern: 'x', path: 'out/a', mode: 'files' }, options)).text).toBe(
      'out/a',
    );
    expect((await grep({ pattern: 'x', path: 'secret/key' }, options)).text).toBe(
      'Nothing matches.',
    );
  });

  test('excludes like a permission policy denies: everything below, by name, in any letter case, and paths that look like globs', async () => {
    writeTree(root, {
      'a/.ENV': 'x',
      'Secret/key': 'x',
      'app/[id]/x.ts': 'x',
      'app/i/x.ts': 'x',
      'private/x': 'x',
    });
    const exclude = ['.env', 'secret', 'app/[id]/x.ts', `${root}/private`];
    const { text } = await grep({ pattern: 'x', mode: 'files' }, { exclude });
    // The third entry is also a glob that matches the fourth file.
    expect(text).toBe('Nothing matches.');
    expect(
      (await grep({ pattern: 'x', mode: 'files' }, { exclude: exclude.slice(0, 2) })).text,
    ).toBe('app/[id]/x.ts\napp/i/x.ts\nprivate/x');
  });

  test('skips binary files, and mentions them if nothing was found', async () => {
    writeTree(root, { 'a.bin': new Uint8Array([120, 0, 120]), 'a.txt': 'y' });
    expect((await grep({ pattern: 'x' })).text).toBe(
      'Nothing matches.\n\nBinary files are left out: 1.',
    );
    expect((await grep({ pattern: 'y' })).text).toBe('a.txt\n1:y');
  });

  test('shows the part of a long line around the match', async () => {
    writeTree(root, { f: `${'-'.repeat(9000)}needle${'+'.repeat(9000)}` });
    const { text } = await grep({ pattern: 'needle' });
    expect(text.length).toBeLessThan(600);
    expect(text).toMatch(/^f\n1:…-+needle\++…$/);
  });

  test('shows paths that have a line break in them on one line', async () => {
    writeTree(root, { 'a\nb': 'x' });
    expect((await grep({ pattern: 'x', mode: 'files' })).text).toBe('"a\\nb"');
  });

  test('stops at the limit, and says that there may be more', async () => {
    writeTree(root, { a: 'x\n'.repeat(10), b: 'x\n' });
    const { text, value } = await grep({ pattern: 'x', limit: 3 });
    expect(text).toMatch(/^a\n1:x\n2:x\n3:x\n\nThe limit is reached/);
    expect(value).toEqual({ files: 1, matches: 3, isComplete: false });
    expect((await grep({ pattern: 'x', limit: 1, mode: 'files' })).text).toMatch(/^a\n\nThe limit/);
  });

  test.each(['content', 'files', 'count'] as const)(
    'fits its output length in mode %s',
    async (mode) => {
      const name = (at: number) => `${'n'.repeat(200)}${at}`;
      const files = Array.from({ length: 400 }, (_, at) => [
        name(at),
        `${'x'.repeat(600)}\n`.repeat(5),
      ]);
      writeTree(root, Object.fromEntries(files));
      const { text, value } = await grep({ pattern: 'x', mode, limit: 2000, context: 2 });
      expect(text.length).toBeLessThanOrEqual(30_000);
      expect(text.length).toBeGreaterThan(20_000);
      expect(text).toMatch(/The result is full/);
      expect(value).toMatchObject({ isComplete: false });
    },
  );

  test('explains what is wrong with an expression and what to do', async () => {
    const { text, isError } = await grep({ pattern: 'a(b' });
    expect(isError).toBe(true);
    expect(text).toMatch(/^Cannot search for "a\(b": it is not.*Unterminated group.*literal/);
  });

  test.each([
    ['a path that is not there', 'srcs', /srcs.*does not exist.*src/],
    ['a path outside', '../', /outside the workspace/],
    ['a link that leads outside', 'etc', /outside the workspace/],
    ['a FIFO', 'fifo', /^Cannot search fifo: it is neither a file nor a folder$/],
  ])('refuses %s', async (_, path, problem) => {
    writeTree(root, { 'src/a': 'x' });
    await symlink('/etc', join(root, 'etc'));
    execFileSync('mkfifo', [join(root, 'fifo')]);
    const { text, isError } = await grep({ pattern: 'x', path });
    expect(isError).toBe(true);
    expect(text).toMatch(problem);
  });

  test('searches a file of a gigabyte without holding it in memory', async () => {
    const path = join(root, 'huge');
    const file = await open(path, 'w');
    const line = `${'y'.repeat(1023)}\n`.repeat(1024);
    for (let megabyte = 0; megabyte < 40; megabyte++) await file.write(line);
    await file.write('needle\n');
    await file.close();
    expect((await grep({ pattern: 'needle', mode: 'count' })).text).toBe('huge:1');
    // The rest of the file is a hole, which reads as one line of NUL bytes.
    await truncate(path, 2 ** 30);
    expect((await grep({ pattern: 'z' })).text).toMatch(/Binary files are left out: 1/);
  });

  test('counts lines correctly after a line that is too long', async () => {
    writeTree(root, { f: `1\n${'a'.repeat(3_000_000)}tail\nneedle` });
    expect((await grep({ pattern: 'needle' })).text).toMatch(/^f\n3:needle\n/);
  });

  test('reports that only the beginning of a long line was searched', async () => {
    writeTree(root, { f: `1\n${'a'.repeat(3_000_000)}tail\nneedle`, g: 'short' });
    const { text, value } = await grep({ pattern: 'tail' });
    expect(text).toMatch(/^Nothing found so far\.\n\n.*lines of more than a megabyte.*: 1\.$/);
    expect(value).toMatchObject({ isComplete: false });
    expect((await grep({ pattern: 'tail', path: 'g' })).text).toBe('Nothing matches.');
  });

  test.runIf(process.platform === 'linux')('searches files that the system generates', async () => {
    const own = grepTool({ workspace: createWorkspace({ root: '/proc/self' }) });
    const { text } = await runTool(own, { pattern: '^Name:', path: 'status' });
    expect(text).toMatch(/^status\n1:Name:/);
  });
});

describe('files that look like secrets', () => {
  beforeEach(() => {
    writeTree(root, { '.env': 'x=1', 'a/server.pem': 'x', '.env.example': 'x=', 'b.txt': 'x' });
  });

  test('are left out, and their number is reported', async () => {
    const { text } = await grep({ pattern: 'x', mode: 'files' });
    expect(text).toMatch(/^\.env\.example\nb\.txt\n\nFiles that look like secrets.*left out: 2\./);
    expect((await grep({ pattern: 'x', glob: '.env', mode: 'files' })).text).toMatch(/^Nothing/);
  });

  test('are searched by their own path, or with the option', async () => {
    expect((await grep({ pattern: 'x', path: '.env' })).text).toBe('.env\n1:x=1');
    const all = await grep({ pattern: 'x', mode: 'files' }, { searchSecrets: true });
    expect(all.text).toBe('.env\n.env.example\na/server.pem\nb.txt');
  });
});
