import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { workspaceFiles } from './workspace-files.ts';

// The user opens a hostile repository and types `@`. The attack succeeds if a program of the
// repository runs, or if the file list never arrives.

let home: string;
let cwd: string;
let marker: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-attack-')));
  cwd = join(home, 'project');
  marker = join(home, 'the-trap-ran');
  mkdirSync(cwd);
  program('trap.sh');
  writeFileSync(join(cwd, '.gitignore'), 'ignored\n');
  git('init', '-q');
  git('add', '.');
  git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-qm', 'one');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const env = () => ({ PATH: process.env['PATH'], HOME: home, SECRET: 'key' });
const git = (...words: readonly string[]) =>
  execFileSync('git', words, { cwd, env: env(), stdio: ['ignore', 'pipe', 'ignore'] }).toString();

/** Writes a program into the project. The program creates a mark when it runs. */
function program(name: string): string {
  const path = join(cwd, name);
  writeFileSync(path, `#!/bin/sh\nenv > '${marker}'\n`);
  chmodSync(path, 0o755);
  return path;
}

function replaceWithPipe(name: string): void {
  rmSync(join(cwd, name), { recursive: true, force: true });
  execFileSync('mkfifo', [join(cwd, name)]);
}

const attacks: Readonly<Record<string, () => void>> = {
  'git fetches a missing .gitignore with the program of the repository': () => {
    const blob = git('rev-parse', 'HEAD:.gitignore').trim();
    rmSync(join(cwd, '.git/objects', blob.slice(0, 2), blob.slice(2)));
    git('update-index', '--skip-worktree', '.gitignore');
    rmSync(join(cwd, '.gitignore'));
    // Git reads the ignore rules only if there is an untracked file.
    writeFileSync(join(cwd, 'new.txt'), '');
    git('config', 'remote.origin.url', 'ssh://example.invalid/x');
    git('config', 'remote.origin.promisor', 'true');
    git('config', 'extensions.partialClone', 'origin');
    git('config', 'core.repositoryFormatVersion', '1');
    git('config', 'core.sshCommand', join(cwd, 'trap.sh'));
  },
  'garbage in .git/HEAD makes the folder itself a repository with its own programs': () => {
    for (const name of ['objects', 'refs']) mkdirSync(join(cwd, name));
    writeFileSync(join(cwd, 'HEAD'), 'ref: refs/heads/main\n');
    const settings = `bare = false\nworktree = ${cwd}\nsshCommand = ${join(cwd, 'trap.sh')}`;
    const remote = '[remote "origin"]\nurl = ssh://example.invalid/x\npromisor = true\n';
    const partial = '[extensions]\npartialClone = origin\n';
    writeFileSync(
      join(cwd, 'config'),
      `[core]\nrepositoryformatversion = 1\n${settings}\n${remote}${partial}`,
    );
    writeFileSync(join(cwd, '.git/HEAD'), 'garbage');
    git('--git-dir=.', '--work-tree=.', 'add', '.gitignore');
    rmSync(join(cwd, 'objects'), { recursive: true });
    mkdirSync(join(cwd, 'objects'));
    git('--git-dir=.', '--work-tree=.', 'update-index', '--skip-worktree', '.gitignore');
    rmSync(join(cwd, '.gitignore'));
  },
  'a FIFO as .git': () => replaceWithPipe('.git'),
  'a FIFO as .git/HEAD': () => replaceWithPipe('.git/HEAD'),
  'a FIFO as .git/config': () => replaceWithPipe('.git/config'),
  'a FIFO as .git/index': () => replaceWithPipe('.git/index'),
  'a FIFO as .git/packed-refs': () => replaceWithPipe('.git/packed-refs'),
  'a FIFO as .git/info/exclude': () => replaceWithPipe('.git/info/exclude'),
  'a FIFO as .gitignore': () => replaceWithPipe('.gitignore'),
};

test.for(Object.keys(attacks))('attack 4: %s', async (name) => {
  attacks[name]?.();
  const signal = AbortSignal.timeout(30_000);
  const files = await workspaceFiles({ cwd, env: env(), signal });
  expect(existsSync(marker)).toBe(false);
  expect(files).toContain('trap.sh');
});

test('attack 4: npx puts a program named git of the project on the search path', async () => {
  mkdirSync(join(cwd, 'node_modules/.bin'), { recursive: true });
  program('node_modules/.bin/git');
  const PATH = `${join(cwd, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`;
  expect(await workspaceFiles({ cwd, env: { ...env(), PATH } })).toContain('trap.sh');
  expect(existsSync(marker)).toBe(false);
});

test('18.1699: attack: a FIFO as .gitignore blocks git for each list of files', async () => {
  replaceWithPipe('.gitignore');
  // Git opens the file only if there is an untracked file.
  writeFileSync(join(cwd, 'new.txt'), '');
  const log = join(home, 'log');
  const real = execFileSync('sh', ['-c', 'command -v git']).toString().trim();
  mkdirSync(join(home, 'bin'));
  writeFileSync(join(home, 'bin/git'), `#!/bin/sh\necho "$@" >> '${log}'\nexec '${real}' "$@"\n`);
  chmodSync(join(home, 'bin/git'), 0o755);
  const PATH = [join(home, 'bin'), process.env['PATH']].join(delimiter);
  const list = () => workspaceFiles({ cwd, env: { ...env(), PATH } });
  const starts = () => readFileSync(log, 'utf8').split('--others').length - 1;
  expect(await list()).toContain('new.txt');
  expect(starts()).toBe(1);
  expect(await list()).toContain('new.txt');
  expect(starts()).toBe(1);
});
