import { existsSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { expect, test } from 'vitest';
import { runScript, watchedCommand } from '../../testing/sandbox/watched-command.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import type { ReadIndex } from '../index-reader.ts';
import { isQuietGitConfig } from '../quiet-config.ts';
import { risksOf } from './judge-repositories.ts';
import { RepositorySearch } from './repository-search.ts';

// A command creates a repository that makes the check of all new repositories fail.

const names = Object.getOwnPropertyNames(Object.prototype).filter((name) => !/_/.test(name));

test.for(names)('18.1110: attack: a command names a setting %s', async (name) => {
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, 'git init -q'),
    (folder) =>
      runScript(
        folder,
        `for name in a x z; do git init -q $name; git -C $name config core.fsmonitor 'touch "$OUT/ran"'; done
        printf '[core]\n\t${name} = 1\n[remote "a"]\n\t${name} = 1\n\tpromisor = true\n' >> x/.git/config`,
      ),
  );
  for (const folder of ['a', 'x', 'z'])
    expect(existsSync(join(root, folder, '.git')), notes).toBe(false);
  expect(notes).not.toContain('cannot check which');
});

test.for(names)('18.1110: a setting %s is not harmless', (name) => {
  const options = { isWorktree: () => false, isPartial: true };
  for (const section of ['core', 'remote "a"', name, `${name} "a"`])
    expect(isQuietGitConfig(`[${section}]\n\t${name} = 1\n`, options)).toBe(false);
});

/** A search that fails for the index of the repository `x`. */
class FailingSearch extends RepositorySearch {
  override readIndex(git: string): ReadIndex {
    if (git.includes(`${sep}x`)) throw new TypeError('x is not a function');
    return super.readIndex(git);
  }
}

test('18.1111: attack: an error in the check of one repository hides the others', async () => {
  const root = temporaryFolder();
  runScript(
    root,
    'git init -q a; git init -q x; git init -q --bare xb; git init -q z; echo > a/.git/hooks/x; echo > z/.git/hooks/x',
  );
  const found = new RepositorySearch().survey(root);
  const search = new FailingSearch();
  const options = { root, network: false, known: [], guarded: [], harmless: none, search };
  const risks = await risksOf(found, options);
  const reasons = risks.map(({ folder, why }) => `${basename(folder)}: ${why}`);
  expect(reasons.toSorted()).toEqual([
    'a: it has hooks',
    'x: it cannot be checked',
    'xb: it cannot be checked',
    'z: it has hooks',
  ]);
});

const none = Promise.resolve(new Set<string>());
