import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { patientMs } from '../../../../core/src/testing/runs.ts';
import { runScript, watchedCommand } from '../../testing/sandbox/watched-command.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { renameNewRepositories, watchRepositories } from '../repositories/new-repositories.ts';
import { PackageRepositories } from '../repositories/package-repositories.ts';
import { RepositorySearch } from '../repositories/repository-search.ts';

// A command leaves files in a git folder that make git or other programs copy or run something for the user.

const identity = 'git config user.name a; git config user.email a@b';
const create = `set -e; git init -q -b main; ${identity}; echo 1 > x; git add x; git commit -qm one`;
/** Leaves a conflict in `x`. */
const conflict = `git checkout -qb side; echo 2 > x; git commit -qam two; git checkout -q main; echo 3 > x; git commit -qam three; git merge -q side >/dev/null || true`;
const id = '1'.repeat(40);
const secret = (root: string) => join(root, 'denied');
/** The user finishes the work. Returns everything that git has recorded. */
function commitAsUser(root: string): string {
  runScript(root, 'git add x y 2>/dev/null; git commit -qm last --allow-empty || true');
  return runScript(root, 'cat .git/rr-cache/*/* > "$OUT/all" 2>/dev/null || true');
}

const recordOf = (name: string) =>
  `mkdir -p .git/rr-cache/${id}; : > .git/rr-cache/${id}/preimage; printf '${id}\\t${name}\\0' > .git/MERGE_RR`;

test.for([
  ['a denied file', create, recordOf('denied')],
  ['a file outside', create, recordOf('../outside')],
  ['a link', create, `ln -s denied y; ${recordOf('y')}`],
  [
    'a file of an earlier conflict',
    `${create}; mkdir .git/rr-cache; ${conflict}`,
    `${recordOf('denied')}`,
  ],
  [
    'a link instead of a conflict',
    `${create}; mkdir .git/rr-cache; ${conflict}`,
    'rm x; ln -s denied x',
  ],
  [
    'a linked folder',
    `${create}; mkdir .git/rr-cache; mkdir d; mv x d/x; git add -A; git commit -qm d; ${conflict.replaceAll(' x', ' d/x')}`,
    'rm -r d; mkdir e; cp denied e/x; ln -s e d',
  ],
] as const)(
  '18.1262: attack: the commit of the user copies %s that a command names in MERGE_RR',
  async ([, before, command]) => {
    const { root, notes } = await watchedCommand(
      (folder) => {
        runScript(folder, before);
        writeFileSync(secret(folder), 'the secret');
      },
      (folder) => runScript(folder, command),
    );
    expect(notes).toContain('The sandbox renamed MERGE_RR');
    const out = commitAsUser(root);
    expect(readFileSync(join(out, 'all'), 'utf8')).not.toContain('the secret');
  },
);

const entries = [
  'lazygit.yml',
  'arc/config',
  'sl/config',
  'crypt/clean',
  'info/grafts',
  'objects/info/alternates',
  'objects/info/http-alternates',
  'remotes/origin',
  'branches/origin',
  'gitweb/httpd.conf',
  'svn/.metadata',
  'HEAD~1',
  'xHEAD',
  'EDITMSG.sh',
] as const;

test.for(entries)('18.1263: attack: a command creates .git/%s', async (name) => {
  const write = (folder: string) => {
    mkdirSync(join(folder, '.git', name, '..'), { recursive: true });
    writeFileSync(join(folder, '.git', name), 'x');
  };
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, create),
    (folder) => {
      write(folder);
      runScript(folder, `mkdir new; cd new; ${create}`);
      write(join(folder, 'new'));
    },
    () => {},
  );
  // In a new repository, `git clone --shared` creates this file.
  const isOfClone = name === 'objects/info/alternates';
  expect(notes.match(/The sandbox renamed/g)).toHaveLength(isOfClone ? 1 : 2);
  for (const folder of isOfClone ? [root] : [root, join(root, 'new')]) {
    expect(existsSync(join(folder, '.git', name))).toBe(false);
    runScript(folder, 'git fsck');
  }
});

test('18.1263: attack: a command changes an unusual file, or creates very many', async () => {
  const { root, notes } = await watchedCommand(
    (folder) => {
      runScript(folder, `${create}; echo a > .git/lazygit.yml; mkdir .git/own; touch .git/own/a`);
    },
    () => {},
    (folder) => writeFileSync(join(folder, '.git/lazygit.yml'), 'b\n'),
    (folder) => runScript(folder, 'cd .git; for n in $(seq 1100); do echo > z$n; done'),
  );
  expect(notes.match(/The sandbox renamed/g)).toHaveLength(2);
  expect(notes).toContain('more than 1000 entries');
  expect(existsSync(join(root, '.git'))).toBe(false);
});

test('18.1262: attack: a process that ends at once leaves MERGE_RR to the next process', () => {
  const root = temporaryFolder();
  runScript(root, create);
  const search = new RepositorySearch();
  const about = { root, search, known: [], guarded: [], network: false };
  const packages = new PackageRepositories(search);
  const watch = watchRepositories({
    ...about,
    changesGit: true,
    packages,
    harmless: Promise.resolve(new Set()),
  });
  runScript(root, recordOf('denied'));
  expect(renameNewRepositories().join()).toContain('MERGE_RR');
  watch.stop();
  expect(readdirSync(join(root, '.git'))).not.toContain('MERGE_RR');
});

test('18.1262: attack: a command writes MERGE_RR again and again while it runs', async () => {
  const root = temporaryFolder();
  runScript(root, create);
  const record = join(root, '.git/MERGE_RR');
  const search = new RepositorySearch();
  const about = { root, search, known: [], guarded: [], network: false, everyMs: 1 };
  const packages = new PackageRepositories(search);
  const watch = watchRepositories({
    ...about,
    changesGit: true,
    packages,
    harmless: Promise.resolve(new Set()),
  });
  await watch.ready;
  const isOver = () => {
    if (!existsSync(record)) writeFileSync(record, `${id}\tdenied\0`);
    return watch.blocked.aborted;
  };
  await expect.poll(isOver, { interval: 1, timeout: patientMs(60_000) }).toBe(true);
  expect((await watch.finish()).join()).toContain('The sandbox renamed MERGE_RR');
});

const file = 'git -c protocol.file.allow=always';

test.for([
  ['a conflict', `${conflict}; echo 4 > x; git add x; git commit -qm merged`],
  ['an unfinished merge', conflict],
  ['a merge that is stopped', `${conflict}; git merge --abort`],
  [
    'a squash',
    'git checkout -qb side; git commit -q --allow-empty -m a; git checkout -q main; git merge --squash side',
  ],
  ['an unfinished rebase', `${conflict}; git merge --abort; git rebase side || true`],
  ['an unfinished cherry-pick', `${conflict}; git merge --abort; git cherry-pick side || true`],
  ['an unfinished revert', `${conflict}; git merge --abort; git revert --no-edit HEAD~1 || true`],
  [
    'an unfinished am',
    `${conflict}; git merge --abort; git format-patch -q -1 side; git am *.patch || git am -3 *.patch || true`,
  ],
  ['a stash', 'echo 2 > x; git stash; git stash pop; echo y | git stash push -p || true'],
  [
    'a bisect',
    'for n in 1 2 3 4; do git commit -q --allow-empty -m $n; done; git bisect start; git bisect bad; git bisect good HEAD~4; git bisect run true || true; git bisect start -- x',
  ],
  [
    'notes',
    'git notes add -m a; git notes --ref b add -m c; git notes merge b || true; git notes append -m d',
  ],
  [
    'a tag and a branch',
    'git tag -a -m t t; git branch -q b; GIT_EDITOR=true git branch --edit-description b; git replace --graft HEAD || true',
  ],
  ['a worktree', 'git worktree add -q ../$(basename "$PWD")-w || true; git worktree list'],
  [
    'a sparse checkout',
    'mkdir d; echo 1 > d/a; git add d; git commit -qm d; git sparse-checkout set d',
  ],
  [
    'all kinds of storage',
    'git gc -q; git repack -adq; git pack-refs --all; git commit-graph write --reachable; git commit-graph write --reachable --split; git multi-pack-index write; git update-server-info; git fsck --lost-found; git prune; git reflog expire --all',
  ],
  [
    'another form of the index',
    'git update-index --split-index; git update-index --untracked-cache; git add -i </dev/null; git commit -qm p --allow-empty x',
  ],
  [
    'a fetch',
    'git init -q --bare remote.git; git push -q ./remote.git main; git fetch -q ./remote.git main; git pull -q ./remote.git main; git fetch -q --depth 1 ./remote.git main || true; git fetch -q --depth 1 "file://$PWD/remote.git" main',
  ],
  [
    'a maintenance',
    'git maintenance run --task=gc --task=loose-objects --task=incremental-repack --task=commit-graph --auto; git gc --auto',
  ],
  [
    'an edited patch',
    'echo 2 > x; GIT_EDITOR=true git add -e; git commit -qm e; git fast-export --all > "$OUT/all"; git fast-import --force --quiet < "$OUT/all"',
  ],
  [
    'a submodule',
    `mkdir m; cd m; ${create}; git init -q inner; (cd inner; ${identity}; git commit -qm i --allow-empty); ${file} submodule --quiet add ./inner sub; git commit -qm s`,
  ],
  [
    'a new clone',
    `${file} clone -q . c1; ${file} clone -q --bare . c2.git; ${file} clone -q --mirror . c3.git; ${file} clone -q --shared . c4; ${file} clone -q --reference . . c5; ${file} clone -q --depth 1 "file://$PWD" c6; git init -q --separate-git-dir=g7 c7; git init -q --bare c8`,
  ],
  ['an old format', 'git init -q --template= c9; git init -q --object-format=sha256 c10'],
] as const)('18.1263: the files that git writes for %s stay', async ([, script]) => {
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, create),
    (folder) => runScript(folder, script),
    (folder) => runScript(folder, `mkdir again; cd again; ${create}; ${script}`),
    () => {},
  );
  expect(notes).toBe('');
  expect(readdirSync(join(root, '.git')).filter((name) => name.includes('blocked'))).toEqual([]);
});

test('18.1262: the resolution of a conflict is recorded if no command changes it', async () => {
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, `${create}; git config rerere.enabled true; ${conflict}`),
    (folder) => runScript(folder, 'echo 4 > x; git add x; git status'),
  );
  expect(notes).toBe('');
  runScript(root, 'git commit -qm merged; grep 4 .git/rr-cache/*/postimage');
});

test('18.1262: a merge of a command only misses the record of its resolution', async () => {
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, `${create}; git config rerere.enabled true`),
    (folder) => runScript(folder, conflict),
  );
  expect(notes).toContain('Git rerere only misses a resolution');
  runScript(root, 'echo 4 > x; git add x; git commit -qm merged; git fsck');
});
