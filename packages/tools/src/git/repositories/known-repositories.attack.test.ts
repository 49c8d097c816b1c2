import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SandboxError } from '../../contract/sandbox.ts';
import { runScript, watchedCommand } from '../../testing/sandbox/watched-command.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { harmlessRepositories } from './judge-repositories.ts';
import { watchRepositories } from './new-repositories.ts';
import { PackageRepositories } from './package-repositories.ts';
import { RepositorySearch } from './repository-search.ts';

// A command finds a way around the guards of the sandbox, and changes a repository that existed before. In these tests
// there are no guards. The check after the command must find the change.

const evil = '[core]\n\tfsmonitor = touch ran\n';

test.each([
  ['settings', 'inner', (at: string) => writeFileSync(join(at, '.git/config'), evil)],
  [
    'settings of a worktree',
    'inner',
    (at: string) => writeFileSync(join(at, '.git/config.worktree'), evil),
  ],
  ['a hook', 'inner', (at: string) => writeFileSync(join(at, '.git/hooks/post-index-change'), '')],
  [
    'the path of the settings',
    'inner',
    (at: string) => writeFileSync(join(at, '.git/commondir'), '/'),
  ],
  [
    'the path of a submodule',
    'inner/sub',
    (at: string) => writeFileSync(join(at, '.git'), 'gitdir:  x'),
  ],
])('18.853: attack: a command changes %s of a known repository', async (_title, folder, change) => {
  const root = temporaryFolder();
  const git = (...words: string[]) => execFileSync('git', words, { cwd: root, stdio: 'pipe' });
  git('init', '-q', 'inner');
  git('init', '-q', '--separate-git-dir', 'data', 'inner/sub');
  const search = new RepositorySearch();
  const known = search.find(root);
  const before = { root, search, known, guarded: [] };
  const harmless = harmlessRepositories(before);
  const packages = new PackageRepositories(search);
  const watch = watchRepositories({
    ...before,
    changesGit: true,
    harmless,
    network: false,
    packages,
  });
  await harmless;
  change(join(root, folder));
  const notes = await watch.finish();
  expect(notes.join('\n')).toContain(`The sandbox renamed .git to`);
  expect(existsSync(join(root, folder, '.git'))).toBe(false);
});

const own = 'git config user.name a; git config user.email a@b; git commit -q --allow-empty -m x';
const archive = `mkdir -p vendor/lib; cd vendor/lib; git init -q; ${own}`;
const program = 'git config core.fsmonitor "touch $OUT/ran; false"';

test.for([
  ['git add', `git init -q; ${own}; (${archive}; ${program})`, 'git add -A'],
  ['a commit', `git init -q; ${own}; (${archive}; ${program})`, `git add -A; ${own}`],
  [
    'a submodule of another one',
    `git init -q; ${own}; git init -q vendor; (cd vendor; ${own}); git add vendor; (${archive}; ${program})`,
    'cd vendor; git add -A',
  ],
  [
    'a repository in another folder',
    `git init -q --separate-git-dir=data; ${own}; (${archive}; ${program})`,
    'git add -A vendor',
  ],
] as const)(
  '18.1265: attack: a command makes a hostile repository a submodule with %s',
  async ([, before, command]) => {
    const out = temporaryFolder();
    const { root, notes } = await watchedCommand(
      (folder) => runScript(folder, before, out),
      (folder) => runScript(folder, `${command}; rm -f "$OUT/ran"`, out),
      () => {},
    );
    runScript(root, 'git reset -q; git status; cd vendor; git status', out);
    expect(readdirSync(out), notes).toEqual([]);
    expect(notes).toContain('the command made it a submodule');
  },
);

test('18.1265: a harmless repository, and one that was a submodule before, stay', async () => {
  const { root, notes } = await watchedCommand(
    (folder) => {
      runScript(folder, `git init -q; ${own}; (${archive}; ${program}); git add -A`);
      runScript(folder, `git init -q plain; cd plain; ${own}`);
      runScript(folder, `git init -q other; cd other; ${own}; ${program}`);
    },
    (folder) => runScript(folder, `git add plain; touch a; git add a; ${own}`),
  );
  expect(notes).toBe('');
  runScript(root, '[ -d plain/.git ] && [ -d vendor/lib/.git ] && [ -d other/.git ]');
});

test('a known repository with hooks of the user stays', async () => {
  const root = temporaryFolder();
  execFileSync('git', ['init', '-q', 'inner'], { cwd: root });
  writeFileSync(join(root, 'inner/.git/hooks/pre-commit'), '#!/bin/sh\n');
  const search = new RepositorySearch();
  const before = { root, search, known: search.find(root), guarded: [] };
  const harmless = harmlessRepositories(before);
  const packages = new PackageRepositories(search);
  const watch = watchRepositories({
    ...before,
    changesGit: true,
    harmless,
    network: false,
    packages,
  });
  expect(await watch.finish()).toEqual([]);
  expect(readdirSync(join(root, 'inner'))).toEqual(['.git']);
});

test.for(['node_modules', '.git'])(
  '18.1185: attack: a command creates more folders in %s than a check can search',
  async (place) => {
    const { surveyInSlices } = RepositorySearch.prototype;
    const survey = vi.spyOn(RepositorySearch.prototype, 'surveyInSlices');
    onTestFinished(() => survey.mockRestore());
    let hasMany = false;
    survey.mockImplementation(async function (this: RepositorySearch, root, folders) {
      const all = await surveyInSlices.call(this, root, folders);
      const problem = new SandboxError('cannot_confine', 'there are too many folders', {});
      const isAffected = hasMany && folders.some((path) => path.endsWith(`/${place}`));
      return isAffected ? { ...all, problem } : all;
    });
    const { notes, isComplete } = await watchedCommand(
      (root) => execFileSync('git', ['init', '-q'], { cwd: root }),
      (root) => {
        hasMany = true;
        mkdirSync(join(root, 'node_modules'));
      },
    );
    expect(notes).toContain('cannot check which repositories');
    // The next command treats everything that this command created as new, also in another process.
    expect(isComplete).toBe(false);
  },
);
