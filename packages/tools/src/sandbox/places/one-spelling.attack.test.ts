import { linkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readFolder } from '../../git/repositories/read-folder.ts';
import { permissionPolicy } from '../../permissions/permission-policy.ts';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';
import { type FileNames, ignoresCase } from '../../workspace/letter-case.ts';
import { parseMountTable } from './mount-table.ts';
import { assertOneSpelling, workspaceProblem } from './one-spelling.ts';

// A command uses a guarded file by another spelling of its name, because the file system ignores the letter case. A
// mount of the sandbox covers only one spelling. The tests use a fake file system: to mount a real one, the machine
// needs FUSE, a kernel with case folding, or a drive of Windows. The fault and the mend were also tried with a FUSE
// file system that ignores the letter case.

/** Returns files in folders. The folders of `folding` and all folders below them ignore the letter case. */
function fakeFiles(paths: readonly string[], folding: readonly string[]): FileNames {
  const isFolding = (path: string) =>
    folding.some((folder) => path.toLowerCase().startsWith(`${folder.toLowerCase()}/`));
  const formOf = (path: string) => (isFolding(path) ? path.toLowerCase().normalize('NFC') : path);
  const all = new Set(
    paths.flatMap((path) =>
      path.split('/').map((_, at, names) => names.slice(0, at + 1).join('/')),
    ),
  );
  const forms = new Set([...all].map(formOf));
  const isIn = (folder: string) => (path: string) =>
    path !== folder && formOf(resolve(path, '..')) === formOf(folder);
  return {
    exists: (path) => forms.has(formOf(path)),
    namesIn: (folder, max) =>
      [...all]
        .filter(isIn(folder))
        .map((path) => path.slice(folder.length + 1))
        .slice(0, max),
  };
}

const workspace = ['/mnt/c/site/.git/config', '/mnt/c/site/.env', '/mnt/c/site/private/key'];
const none = parseMountTable('');

describe('a workspace on a file system that ignores the letter case', () => {
  const files = fakeFiles(workspace, ['/mnt/c']);

  test('18.730: attack: a command writes .git/CONFIG', () => {
    const paths = ['/mnt/c/site/.git/config'];
    const check = () => assertOneSpelling({ paths, root: '/mnt/c/site', mounts: none, files });
    expect(check).toThrow(expect.objectContaining({ code: 'cannot_confine' }));
    expect(check).toThrow('ignores the letter case of names');
    expect(workspaceProblem('/mnt/c/site', { files })?.advice).toContain('home folder of Linux');
  });

  test('18.731: attack: a closed command reads .ENV', () => {
    const check = (paths: readonly string[]) => () =>
      assertOneSpelling({ paths, root: undefined, mounts: none, files });
    expect(check(['/mnt/c/site/.env'])).toThrow('outside_sandbox');
    expect(check(['/mnt/c/site/private/key'])).toThrow('/mnt/c/site/private');
    // Without a hidden path, a closed command can neither read too much nor change a file.
    expect(check([])).not.toThrow();
  });
});

test('18.732: attack: only a folder, a mount in the workspace, or a hidden folder ignores the letter case', () => {
  const files = fakeFiles(
    ['/w/a/.git/config', '/w/shared/x', '/w/.env', '/data/Keys/id', '/w/plain/.env'],
    ['/w/a/.git', '/w/shared', '/data'],
  );
  const mounts = parseMountTable(
    ['1 0 8:1 / / rw - ext4 /dev/sda1 rw', '2 1 0:50 / /w/shared rw - 9p share rw'].join('\n'),
  );
  const check =
    (paths: readonly string[], table = none) =>
    () =>
      assertOneSpelling({ paths, root: '/w', mounts: table, files });
  expect(check(['/w/.env', '/w/plain/.env'])).not.toThrow();
  expect(check(['/w/a/.git/config'])).toThrow('/w/a/.git');
  expect(check(['/data/Keys'])).toThrow('/data');
  expect(check([], mounts)).toThrow('/w/shared');
  expect(workspaceProblem('/w', { files, mounts })?.reason).toContain('/w/shared');
});

test('18.733: attack: a command uses another form of an accented letter', () => {
  const name = '/mnt/m/Cl\u00e9';
  const files: FileNames = {
    exists: (path) => path.normalize('NFC') === name,
    namesIn: () => ['Cl\u00e9'],
  };
  expect(() => assertOneSpelling({ paths: [name], root: undefined, mounts: none, files })).toThrow(
    '/mnt/m',
  );
});

test('18.768: attack: only an accented name of a folder has another form, and it is not the first name', () => {
  const names = ['.a.txt', 'Cl\u00e9.txt'];
  const files: FileNames = {
    exists: (path) => names.some((name) => path.normalize('NFC') === `/mnt/m/${name}`),
    namesIn: () => names,
  };
  const check = (...hidden: readonly string[]) => {
    const paths = hidden.map((name) => `/mnt/m/${name}`);
    return () => assertOneSpelling({ paths, root: undefined, mounts: none, files });
  };
  expect(check(...names)).toThrow('/mnt/m');
  expect(check('.a.txt')).not.toThrow();
});

test('18.734: a file system that distinguishes the letter case keeps its sandbox', () => {
  const root = temporaryFolder();
  writeTree(root, { '.env': 'a', README: 'b', readme: 'c', 'private/key': 'd' });
  linkSync(join(root, '.env'), join(root, '.ENV'));
  const paths = ['.env', 'README', 'private'].map((name) => join(root, name));
  expect(() => assertOneSpelling({ paths, root, mounts: none })).not.toThrow();
  expect(workspaceProblem(root)).toBeUndefined();
  expect(workspaceProblem(temporaryFolder())).toBeUndefined();
  expect(ignoresCase(join(root, 'missing'))).toBe(false);
  expect(ignoresCase('/w', fakeFiles(['/w/123/x'], ['/w']))).toBe(false);
});

test('18.735: attack: a file tool uses a denied or protected file by another letter case', () => {
  const rules = [
    { path: 'private/**', decision: 'deny' },
    { decision: 'allow', tool: 'write' },
  ] as const;
  const policy = permissionPolicy({ root: '/w', rules, executedFiles: ['/w/tools/hook.js'] });
  const decide = (tool: string, path: string) => policy.decide({ tool, input: { path } }).decision;
  expect(decide('read', 'PRIVATE/Key')).toBe('deny');
  expect(decide('read', '.ENV')).toBe('ask');
  for (const path of ['.GIT/Config', '.VSCode/tasks.json', 'tools/HOOK.js', 'AGENTS.MD'])
    expect(decide('write', path), path).toBe('ask');
});

test('18.736: a folder with a repository in another letter case counts only if git finds it', () => {
  const root = temporaryFolder();
  writeTree(root, { '.GIT/config': '' });
  expect(readFolder(root, undefined, 0)).toMatchObject({ hasGit: false, inner: ['.GIT'] });
  writeTree(root, { '.git/config': '' });
  expect(readFolder(root, undefined, 0)).toMatchObject({ hasGit: true, inner: [] });
});
