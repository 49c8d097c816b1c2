import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  refusedCommand,
  runScript,
  watchedCommand,
} from '../../testing/sandbox/watched-command.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { renameNewRepositories, watchRepositories } from './new-repositories.ts';
import { PackageRepositories } from './package-repositories.ts';
import { RepositorySearch } from './repository-search.ts';

// A command creates a repository in the `.git` of another new one, and so on for many levels. Each level was visible
// only after the sandbox had renamed the level above.

const evil = '[core]\n\tfsmonitor = touch ran\n';

/** Creates a repository in a folder, another one in its `.git`, and so on. Returns the folder of the last one. */
function nest(folder: string, levels: number, name: string | Buffer = 'd'): Buffer {
  const inside = (at: Buffer, one: string | Buffer) =>
    Buffer.concat([at, Buffer.from('/'), Buffer.from(one)]);
  let at = Buffer.from(folder);
  for (let level = 1; ; level++) {
    const git = inside(at, '.git');
    for (const one of ['objects', 'refs']) mkdirSync(inside(git, one), { recursive: true });
    writeFileSync(inside(git, 'config'), evil);
    writeFileSync(inside(git, 'HEAD'), 'ref: refs/heads/main\n');
    if (level === levels) return at;
    at = inside(git, name);
    mkdirSync(at);
  }
}

/** Returns the number of entries in a folder that make git use a repository. */
function left(folder: string): number {
  const words = [folder, '(', '-name', '.git', '-o', '-name', 'HEAD', ')'];
  return execFileSync('find', words, { encoding: 'utf8' }).split('\n').filter(Boolean).length;
}

const create = 'git init -q; mkdir -p a node_modules/p';

test.for([
  ['without the permission', 'a', refusedCommand],
  ['with change_git', 'a', watchedCommand],
  ['without the permission', 'node_modules/p', refusedCommand],
  ['with change_git', 'node_modules/p', watchedCommand],
] as const)(
  '18.1680: attack: a command %s creates 40 levels of repositories in %s',
  async ([, place, run]) => {
    const { root, notes, isComplete } = await run(
      (folder) => runScript(folder, create),
      (folder) => void nest(join(folder, place), 40),
    );
    expect(left(join(root, place))).toBe(0);
    expect(isComplete, notes).toBe(true);
    expect(notes.match(/The sandbox renamed/g)).toHaveLength(10);
    expect(notes).toContain('\n30 more repositories were renamed');
    expect(notes).not.toContain('could not');
  },
);

test.for([2, 40])(
  '18.1681: attack: a command creates %d levels of repositories in a git folder that existed before',
  async (levels) => {
    const { root, notes, isComplete } = await watchedCommand(
      (folder) => runScript(folder, create),
      (folder) => {
        mkdirSync(join(folder, '.git/refs/x'));
        nest(join(folder, '.git/refs/x'), levels);
      },
    );
    expect(left(join(root, '.git/refs'))).toBe(0);
    expect(isComplete, notes).toBe(true);
    expect(notes.match(/The sandbox renamed/g)).toHaveLength(Math.min(levels, 10));
  },
);

test('18.1682: attack: the new name of each level makes the path too long for the next search', async () => {
  const { root, notes, isComplete } = await refusedCommand(
    (folder) => runScript(folder, create),
    (folder) => void nest(join(folder, 'a'), 70),
  );
  expect(left(join(root, 'a'))).toBe(0);
  expect(notes).toContain('\n60 more repositories were renamed');
  // The search cannot enter the folders with long paths, so it cannot know that nothing is left.
  expect(isComplete).toBe(false);
  expect(notes).toContain('its path is too long. Remove it');
  expect(notes.length).toBeLessThan(10_000);
  expect(() => new RepositorySearch().find(root)).toThrow('too long');
});

test('18.1683: attack: the levels have names that are no text, or cannot be listed', async (context) => {
  const name = Buffer.from([0x61, 0xff]);
  let isText = false;
  const { root, notes, isComplete } = await refusedCommand(
    (folder) => runScript(folder, create),
    (folder) => {
      try {
        mkdirSync(Buffer.concat([Buffer.from(`${folder}/a/`), name]));
      } catch {
        isText = true;
        return;
      }
      nest(join(folder, 'a'), 30, name);
      const last = nest(join(folder, 'a/b'), 30);
      chmodSync(last, 0);
      chmodSync(join(folder, 'a/b/.git/d'), 0o300);
    },
  );
  if (isText) return context.skip('The file system accepts only text as names');
  expect(left(join(root, 'a'))).toBe(0);
  expect(isComplete, notes).toBe(true);
});

/** Creates a repository during each search of the workspace, like a program beside the check. */
function createDuringSearches(places: (root: string) => string): void {
  const { surveyInSlices, survey } = RepositorySearch.prototype;
  let count = 0;
  const add = (root: string) =>
    void mkdirSync(join(places(root), `new${count++}/.git`), { recursive: true });
  const slices = vi.spyOn(RepositorySearch.prototype, 'surveyInSlices');
  slices.mockImplementation(function (this: RepositorySearch, root, folders) {
    if (!root.endsWith('.git')) add(root);
    return surveyInSlices.call(this, root, folders);
  });
  const whole = vi.spyOn(RepositorySearch.prototype, 'survey');
  whole.mockImplementation(function (this: RepositorySearch, root, ...more) {
    add(root);
    return survey.call(this, root, ...more);
  });
  onTestFinished(() => {
    slices.mockRestore();
    whole.mockRestore();
  });
}

test.for([
  ['a', refusedCommand],
  ['a', watchedCommand],
  ['node_modules/p', watchedCommand],
  ['.git/refs', watchedCommand],
] as const)(
  '18.1685: attack: each search finds a further repository in %s (%#)',
  async ([place, run]) => {
    const { isComplete, notes } = await run(
      (folder) => runScript(folder, create),
      () =>
        createDuringSearches((root) => {
          // Only a repository with settings counts as a risk in each place.
          const at = join(root, place, `hostile${Math.random()}`);
          mkdirSync(at);
          nest(at, 1);
          return at;
        }),
    );
    expect(isComplete).toBe(false);
    expect(notes).toContain('each search found more');
  },
);

/** Starts to watch a workspace in which the process ends before the command. */
async function openWatch() {
  const root = temporaryFolder();
  runScript(root, create);
  const search = new RepositorySearch();
  const watch = watchRepositories({
    ...{ root, search, known: search.survey(root).found, guarded: [], network: false },
    changesGit: false,
    packages: new PackageRepositories(search),
    harmless: Promise.resolve(new Set()),
    everyMs: 1_000_000,
  });
  onTestFinished(() => watch.stop());
  await watch.ready;
  return root;
}

test('18.1686: attack: a process that ends at once leaves no level of 40', async () => {
  const root = await openWatch();
  nest(join(root, 'a'), 40);
  const notes = renameNewRepositories();
  expect(left(join(root, 'a'))).toBe(0);
  expect(notes.join()).not.toContain('could not be renamed');
  expect(notes.join()).not.toContain('cannot check');
  expect(renameNewRepositories()).toEqual([]);
});

test('18.1686: attack: a process that ends at once reports that it could not rename everything', async () => {
  await openWatch();
  createDuringSearches((folder) => join(folder, 'a'));
  expect(renameNewRepositories().join('\n')).toContain('each search found more');
});
