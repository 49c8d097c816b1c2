import { execFileSync } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runScript, watchedCommand } from '../../testing/sandbox/watched-command.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

// A command puts a link into a git folder. Git writes through the link when the user runs git outside of the sandbox.

const who = '-c user.name=a -c user.email=a@b -c protocol.file.allow=always';
const init = (at: string) =>
  `git init -q -b main ${at}; git -C ${at} ${who} commit -q --allow-empty -m x`;
const work = [
  'checkout -q -b other',
  'commit -q --allow-empty -m y',
  'fetch -q',
  'pack-refs --all',
];

function git(cwd: string, words: string): void {
  try {
    const all = [...who.split(' '), ...words.split(' ')];
    execFileSync('git', all, { cwd, stdio: 'pipe', timeout: 60_000 });
  } catch {
    // The folder is no repository any more.
  }
}

/** Returns the git folders of a repository that existed before the command, and of a new one. */
const places = ['.', 'sub'] as const;
const names =
  'logs/HEAD logs/refs/heads/other COMMIT_EDITMSG FETCH_HEAD ORIG_HEAD packed-refs logs refs/heads x'.split(
    ' ',
  );

test.for(places.flatMap((at) => names.map((name) => [at, name] as const)))(
  '18.1112: attack: in %s, a command replaces %s by a link',
  async ([at, name]) => {
    const out = temporaryFolder();
    writeFileSync(join(out, 'file'), 'as before\n');
    const isFolder = name === 'logs' || name === 'refs/heads';
    const { root, notes } = await watchedCommand(
      (folder) => runScript(folder, init('.')),
      (folder) =>
        runScript(
          folder,
          `set -e; mkdir -p $OUT/folder; [ -d ${at}/.git ] || (${init(at)}); cd ${at}/.git; mkdir -p $(dirname ${name}); rm -rf ${name}; ln -s $OUT/${isFolder ? 'folder' : 'file'} ${name}`,
          out,
        ),
    );
    for (const words of work) git(join(root, at), words);
    expect(readdirSync(join(out, 'folder')), notes).toEqual([]);
    expect(readFileSync(join(out, 'file'), 'utf8'), notes).toBe('as before\n');
    expect(notes).toContain('The sandbox renamed');
  },
);

test.for(
  places.flatMap((at) =>
    ['mkfifo x', 'echo > ../x; ln ../x x', 'mkdir -m 0300 y; ln -s / y/x'].map(
      (script) => [at, script] as const,
    ),
  ),
)('18.1113: attack: in %s, a command runs %s', async ([at, script]) => {
  const { notes } = await watchedCommand(
    (folder) => runScript(folder, init('.')),
    (folder) => runScript(folder, `[ -d ${at}/.git ] || (${init(at)}); cd ${at}/.git; ${script}`),
  );
  expect(notes).toContain('another entry that git does not create');
});

test('18.1114: attack: a command replaces a link of the user, and uses the name of a renamed link', async () => {
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, `${init('.')}; ln -s objects .git/a`),
    (folder) => runScript(folder, 'ln -sfn /etc .git/a; ln -s /etc .git/logs/refs/heads/other'),
    (folder) =>
      runScript(
        folder,
        'cd .git/logs/refs/heads; git check-ref-format "refs/heads/$(ls -A | grep blocked)" && exit 1; true',
      ),
  );
  const kept = readdirSync(join(root, '.git/logs/refs/heads')).filter((name) =>
    /^\.other/.test(name),
  );
  expect(kept).toHaveLength(1);
  expect(notes).toMatch(/renamed a to /);
  expect(lstatSync(join(root, '.git/a'), { throwIfNoEntry: false })).toBeUndefined();
});

test('18.1115: attack: a command creates more links than a check can rename', async () => {
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, init('.')),
    (folder) => runScript(folder, 'cd .git/logs; for n in $(seq 1001); do ln -s /x $n; done'),
  );
  expect(notes).toContain('it has more than 1000 links');
  expect(readdirSync(root).map((name) => name.slice(0, 12))).toEqual(['.git.blocked']);
});

test('18.1116: a link of the user, the lock of an editor and usual work with git stay', async () => {
  const { notes } = await watchedCommand(
    (folder) => runScript(folder, `${init('.')}; ln -s objects .git/a; ln .git/HEAD .git/b`),
    (folder) => runScript(folder, 'ln -s me@host.1 .git/.#COMMIT_EDITMSG; git checkout -q -b c'),
    (folder) =>
      runScript(
        folder,
        `set -e; cp -al .git/logs/HEAD copy; git ${who} commit -q --allow-empty -m z
        git clone -q --local . near; git clone -q . far; git clone -q --bare . bare.git; git clone -q --shared . shared
        cd near; git worktree add -q ../tree; cd ../tree; echo > a; git add a; git ${who} commit -q -m a
        git ${who} rebase -q origin/main; git ${who} stash list; git gc -q; cd ../far
        git ${who} submodule --quiet add ../near inner; git ${who} commit -q -m x; git repack -qad; git pack-refs --all
        cd ..; git init -q --bare own.git; git -C own.git worktree list`,
      ),
  );
  expect(notes).toBe('');
});
