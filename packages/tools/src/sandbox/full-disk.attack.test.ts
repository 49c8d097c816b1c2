import fs, { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { earlierState } from '../git/repositories/earlier-state.ts';
import { gitFolderSearch } from '../git/repositories/inner-git-folders.ts';
import { watchRepositories } from '../git/repositories/new-repositories.ts';
import { PackageRepositories } from '../git/repositories/package-repositories.ts';
import { RepositorySearch } from '../git/repositories/repository-search.ts';
import { endCommandsNow } from '../shell/process-session.ts';
import { runScript, watchedCommand } from '../testing/sandbox/watched-command.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { createHome, homePrefix } from './private/sandbox-home.ts';
import { findUnfinished, noteNames, noteRunning } from './private/unfinished-commands.ts';
import { checkNames, watchNames } from './watch-names.ts';

// A command fills the disk and the folder, so that the sandbox cannot rename what the command created.

/** Makes each rename fail until the end of the test. The modules that import these functions may be loaded already. */
function fill(): void {
  const fail = () => {
    throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  };
  vi.spyOn(fs, 'renameSync').mockImplementation(fail);
  vi.spyOn(promises, 'rename').mockImplementation(async () => fail());
  syncBuiltinESMExports();
  onTestFinished(makeRoom);
}

function makeRoom(): void {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
}

const hostile = `git init -q sub && git -C sub config core.fsmonitor 'touch "$OUT/ran"; false'`;

test('18.1755: attack: a new repository that runs programs cannot be renamed', async () => {
  const out = temporaryFolder();
  const { root, notes, isComplete } = await watchedCommand(
    (folder) => runScript(folder, 'git init -q'),
    (folder) => {
      runScript(folder, hostile, out);
      fill();
    },
  );
  expect(notes).toContain('could not rename it. It has removed .git/HEAD instead');
  expect(isComplete).toBe(false);
  runScript(root, 'git status; cd sub; git status', out);
  expect(existsSync(join(out, 'ran'))).toBe(false);
});

test('18.1755: a file that existed before stays', async () => {
  const { root, isComplete } = await watchedCommand(
    (folder) => runScript(folder, 'git init -q; git init -q sub'),
    (folder) => {
      writeFileSync(join(folder, 'sub/.git/config'), '[core]\n\tfsmonitor = false\n');
      fill();
    },
  );
  expect(isComplete).toBe(false);
  expect(existsSync(join(root, 'sub/.git/HEAD'))).toBe(true);
});

test('18.1756: attack: a repository that could not be renamed counts as known for the next command', async () => {
  const root = temporaryFolder();
  runScript(root, 'git init -q');
  const search = new RepositorySearch();
  const stateOf = () => {
    const known = search.survey(root).found;
    return { root, search, known, guarded: [], inner: gitFolderSearch() };
  };
  const before = await earlierState(stateOf()).seen;
  runScript(root, hostile);
  const start = () => {
    const earlier = earlierState({ ...stateOf(), unchecked: [before] });
    const packages = new PackageRepositories(search);
    const more = { packages, harmless: Promise.resolve(new Set<string>()), earlier };
    const options = { ...stateOf(), ...more, known: earlier.known };
    return watchRepositories({ ...options, changesGit: true, network: false });
  };
  fill();
  const refused = start();
  await expect(refused.ready).rejects.toThrow('The sandbox could not rename it');
  refused.stop();
  makeRoom();
  const watch = start();
  await watch.ready;
  expect(existsSync(join(root, 'sub/.git'))).toBe(false);
  expect((await watch.finish()).join()).toContain('The sandbox renamed .git');
  expect(await watch.isComplete).toBe(true);
});

test.for([
  ['a folder', (path: string) => mkdirSync(path)],
  ['a file', (path: string) => writeFileSync(path, '{}')],
] as const)('18.1757: attack: %s with a protected name cannot be renamed', ([, create]) => {
  const root = temporaryFolder();
  const newNames = { folder: root, isProtected: (name: string) => name === '.vscode' };
  const watch = watchNames([], [], new Map(), newNames);
  create(join(root, '.vscode'));
  fill();
  expect(watch.finish().join()).toContain('could not rename');
  expect(watch.isRestored()).toBe(false);
  expect(lstatSync(join(root, '.vscode')).mode & 0o777).toBe(0);
  const known = new Set<string>();
  expect(() => checkNames([], { ...newNames, known })).toThrow('no command starts in this folder');
  makeRoom();
  expect(checkNames([], { ...newNames, known }).join()).toContain('The sandbox renamed');
  expect(existsSync(join(root, '.vscode'))).toBe(false);
});

test('18.1757: attack: a link with a protected name cannot be renamed', () => {
  const root = temporaryFolder();
  const newNames = { folder: root, isProtected: (name: string) => name === '.vscode' };
  const watch = watchNames([], [], new Map(), newNames);
  symlinkSync('other', join(root, '.vscode'));
  fill();
  expect(watch.finish()).not.toEqual([]);
  expect(watch.isRestored()).toBe(true);
  expect(lstatSync(join(root, '.vscode'), { throwIfNoEntry: false })).toBeUndefined();
});

test('18.1758: attack: a full disk makes the sandbox forget that a check was not complete', () => {
  const home = createHome(new Uint8Array(), []);
  onTestFinished(() => home.remove());
  const root = temporaryFolder();
  const names = { watched: [], known: ['a'] };
  const note = noteRunning(home.folder, root, new Set(['before']));
  const forget = noteNames(home.folder, root, names);
  const unfinished = () => findUnfinished(home.folder, homePrefix, root);
  expect(unfinished()).toMatchObject({ seen: [], names: [] });
  fill();
  note.keep();
  forget(false);
  expect(unfinished()).toMatchObject({ seen: [new Set(['before'])], names: [names] });
  unfinished().forget();
  expect(unfinished()).toMatchObject({ seen: [], names: [] });
});

test.for([
  ['cannot rename a name', true, 1],
  ['has renamed all names', false, 0],
] as const)(
  '18.1812: attack: the process exits while a command runs, and %s',
  ([, isFull, left]) => {
    const home = createHome(new Uint8Array(), []);
    onTestFinished(() => home.remove());
    const root = temporaryFolder();
    const newNames = { folder: root, isProtected: (name: string) => name === '.vscode' };
    const watch = watchNames([], [], new Map(), newNames);
    noteNames(home.folder, root, { watched: [], known: [] });
    mkdirSync(join(root, '.vscode'));
    if (isFull) fill();
    expect(endCommandsNow().join()).toContain('.vscode');
    makeRoom();
    watch.finish();
    expect(findUnfinished(home.folder, homePrefix, root).names.length).toBe(left);
  },
);

test('a name that another program has removed does not keep commands from starting', () => {
  const root = temporaryFolder();
  const newNames = { folder: root, isProtected: (name: string) => name === '.vscode' };
  const watch = watchNames([], [], new Map(), newNames);
  mkdirSync(join(root, '.vscode'));
  rmSync(join(root, '.vscode'), { recursive: true });
  expect(watch.finish()).toEqual([]);
  expect(watch.isRestored()).toBe(true);
});
