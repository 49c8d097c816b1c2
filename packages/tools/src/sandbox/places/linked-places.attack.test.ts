import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RepositorySearch } from '../../git/repositories/repository-search.ts';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';
import { planGuards } from '../protected-paths.ts';

// A command in the sandbox uses the real path of a place that the user or a variable names through a link.

type Places = Partial<Record<'startUp' | 'keys' | 'hide' | 'protect' | 'programs', string[]>>;

/** Returns the guards of the paths below the root. Links and paths that must not exist are `watched`. */
function guardsIn(root: string, places: Places): Readonly<Record<string, string>> {
  const none = {
    startUp: [],
    keys: [],
    hide: [],
    protect: [],
    programs: [],
    packages: [],
    nested: [],
  };
  const repositories = new RepositorySearch();
  const at = { root, canChange: true, repositories, writable: [root] };
  const { guarded, watched } = planGuards({ ...none, ...at, ...places });
  const all = [
    ...guarded.map(({ path, guard }) => [path, guard]),
    ...watched.map(({ path }) => [path, 'watched']),
  ];
  return Object.fromEntries(all.map(([path = '', guard = '']) => [path.slice(root.length), guard]));
}

function linkedRoot() {
  const base = temporaryFolder();
  const root = join(base, 'real/user');
  writeTree(root, { 'bin/tool': '', 'keys/a': '', 'hook.sh': '', 'dotfiles/bashrc': '' });
  symlinkSync('real', join(base, 'link'));
  mkdirSync(join(base, 'outside'));
  symlinkSync(join(root, 'dotfiles/bashrc'), join(base, 'outside/.bashrc'));
  symlinkSync(join(root, 'dotfiles/later'), join(base, 'outside/.zshrc'));
  return { root, base };
}

test('18.514: attack: a command changes a start-up file behind a link', () => {
  const { root, base } = linkedRoot();
  const startUp = ['link/user/bin', 'link/user/.profile', 'outside/.bashrc', 'outside/.zshrc'];
  const guards = guardsIn(root, { startUp: startUp.map((path) => join(base, path)) });
  expect(guards).toMatchObject({
    '/bin': 'read-only',
    '/.profile': 'watched',
    '/dotfiles': 'pinned',
    '/dotfiles/bashrc': 'read-only',
    '/dotfiles/later': 'watched',
  });
});

test('18.514: attack: a command uses hidden paths, scripts and programs behind a link', () => {
  const { root, base } = linkedRoot();
  const hide = [join(base, 'link/user/keys'), join(base, 'link/user/s.db')];
  const protect = [join(base, 'link/user/hook.sh')];
  const programs = [join(base, 'link/user/bin/tool')];
  expect(guardsIn(root, { hide, protect, programs })).toMatchObject({
    '/keys': 'hidden',
    // A session store that does not exist yet must not be created.
    '/s.db': 'watched',
    '/hook.sh': 'read-only',
    '/bin/tool': 'read-only',
  });
});
