import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RepositorySearch } from '../../git/repositories/repository-search.ts';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';
import { gitPlaces } from './git-places.ts';

// A command changes hooks to which the user's configuration refers, wherever that file is.

let root: string;
let home: string;
beforeEach(() => {
  [root, home] = [temporaryFolder(), temporaryFolder()];
  writeTree(root, { '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': '' });
  vi.stubEnv('HOME', home);
});
afterEach(() => void vi.unstubAllEnvs());

test.for([
  ['.gitconfig', undefined, ''],
  ['.config/git/config', undefined, ''],
  ['settings/git/config', 'XDG_CONFIG_HOME', 'settings'],
  ['settings/mine', 'GIT_CONFIG_GLOBAL', 'settings/mine'],
  ['settings/all', 'GIT_CONFIG_SYSTEM', 'settings/all'],
] as const)('attack 38: hooks that %s names are guarded', ([file, variable, value]) => {
  writeTree(home, { [file]: '[core]\n\thooksPath = .githooks\n' });
  if (variable !== undefined) vi.stubEnv(variable, join(home, value));
  expect(gitPlaces(root, new RepositorySearch()).guarded).toContain(join(root, '.githooks'));
});

test('18.1833: attack: many included files hide the settings of the user', () => {
  const includes = Array.from({ length: 60 }, (_, n) => `[include]\n\tpath = f${n}\n`).join('');
  writeTree(root, { '.git/config': includes });
  writeTree(home, { '.gitconfig': '[core]\n\thooksPath = .githooks\n' });
  expect(() => gitPlaces(root, new RepositorySearch())).toThrow('more than 50 files');
});
