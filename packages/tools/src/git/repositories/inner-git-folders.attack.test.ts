import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runScript, watchedCommand } from '../../testing/sandbox/watched-command.ts';

// A command creates a repository inside a git folder. The user opens that folder in a shell whose prompt runs git.

const bare = (at: string) =>
  `git init -q --bare ${at} && git config -f ${at}/config core.bare false`;
const evil = (config: string) => `git config -f ${config} core.fsmonitor "touch '$OUT/ran'; false"`;
const worktree = (at: string) => `git config -f ${at}/config core.worktree .`;
const linked = (at: string, common: string) =>
  `mkdir -p ${at} && echo ref: refs/heads/main > ${at}/HEAD && echo ${common} > ${at}/commondir`;

/** The git folder, relative to the workspace, is `G`. `at` is the folder of the inner repository, below `G`. */
const hidden: readonly (readonly [at: string, script: string])[] = [
  ...[
    '',
    'x',
    'modules/x',
    'worktrees/x',
    'objects/ab/x',
    'objects/pack',
    'refs/heads',
    'info',
  ].map(
    (at) => [at, `mkdir -p G/${at}; git init -q G/${at}; ${evil(`G/${at}/.git/config`)}`] as const,
  ),
  ...['x', 'modules', 'worktrees', 'modules/a/x', 'objects/ab/x', 'node_modules/x'].map(
    (at) =>
      [
        at,
        `[ ${at} = modules/a/x ] && ${bare('G/modules/a')}; ${bare(`G/${at}`)}; ${worktree(`G/${at}`)}; ${evil(`G/${at}/config`)}`,
      ] as const,
  ),
  [
    'worktrees/x',
    `${bare('G/x')}; ${evil('G/x/config')}; ${worktree('G/x')}; ${linked('G/worktrees/x', '../../x')}`,
  ],
];

function gitStatus(cwd: string): void {
  try {
    execFileSync('git', ['status'], { cwd, stdio: 'pipe' });
  } catch {
    // The folder is no repository any more.
  }
}

test.for(
  hidden.flatMap(([at, script]) =>
    // The sandbox guards this place of the workspace.
    ['sub/.git', ...(at.startsWith('worktrees') ? [] : ['.git'])].map(
      (git) => [at, git, script] as const,
    ),
  ),
)(
  '18.964: attack: a command creates a repository at %j in the git folder %s (%s)',
  async ([at, git, script]) => {
    let out = '';
    const { root, notes } = await watchedCommand(
      (folder) => runScript(folder, 'git init -q'),
      (folder) => {
        runScript(folder, `[ -d ${git} ] || git init -q sub`);
        out = runScript(folder, script.replaceAll('G/', `${git}/`));
      },
    );
    if (existsSync(join(root, git, at))) gitStatus(join(root, git, at));
    expect(readdirSync(out), notes).toEqual([]);
    expect(notes).toContain('The sandbox renamed');
  },
);

test('18.964: submodules and worktrees stay, also in the guarded folder of the workspace', async () => {
  const who = '-c user.name=a -c user.email=a@b -c protocol.file.allow=always';
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, `git init -q; git ${who} commit -q --allow-empty -m x`),
    (folder) =>
      runScript(
        folder,
        `set -e; TOP=$PWD; git worktree add -q -f ./tree HEAD; git init -q sub; git clone -q . other; cd sub
        git ${who} submodule --quiet add "$TOP/other" a/b; git ${who} commit -q -m x; git worktree add -q ../second
        cd a/b; git ${who} submodule --quiet add "$TOP/other" c; git worktree add -q ../../../third`,
      ),
  );
  expect(notes).toBe('');
  for (const folder of ['tree', 'second', 'third', 'sub/a/b', 'sub/a/b/c'])
    expect(existsSync(join(root, folder, '.git'))).toBe(true);
});

const mkdirs = (from: number, to: number) =>
  `mkdir -p .git/refs; (cd .git/refs; seq ${from} ${to} | xargs mkdir)`;
const hide = `git init -q .git/refs/2/x; ${evil('.git/refs/2/x/.git/config')}`;

test('18.1122: attack: a command hides a repository behind many folders of an earlier command', async () => {
  let out = '';
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, 'git init -q'),
    (folder) => runScript(folder, mkdirs(1, 50_010)),
    (folder) => {
      out = runScript(folder, hide);
    },
  );
  gitStatus(join(root, '.git/refs/2/x'));
  expect(readdirSync(out), notes).toEqual([]);
  expect(notes).toContain('The sandbox renamed .git');
});

test('18.1122: attack: each command reports that it cannot search a git folder', async () => {
  const { notes } = await watchedCommand(
    (folder) => runScript(folder, `git init -q; ${mkdirs(1, 200_001)}`),
    (folder) => runScript(folder, hide),
  );
  expect(notes).toContain('it has more than 200000 folders');
});
