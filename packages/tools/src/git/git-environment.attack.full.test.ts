import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { gitSafetyEnv } from './git-environment.ts';

// Each attack is a setting that makes git run a program. The test first runs git with a normal environment,
// which shows that the attack works. Then it runs git with the safe environment. The check of the repository,
// which would refuse most of these repositories, is not used.

let home: string;
let root: string;
let marker: string;
let user: Readonly<Record<string, string | undefined>>;

beforeEach(() => {
  home = temporaryFolder();
  root = join(home, 'project');
  marker = join(home, 'the-trap-ran');
  user = {
    PATH: process.env['PATH'],
    HOME: home,
    ...{ GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.com' },
    ...{ GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.com' },
  };
  writeTree(root, { 'a.txt': 'one\n' });
  program('trap.sh');
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'one');
  writeFileSync(join(root, 'a.txt'), 'two\n');
});

const git = (...words: readonly string[]) =>
  spawnSync('git', words, { cwd: root, env: user, encoding: 'utf8' }).stdout.trim();
const trap = () => join(root, 'trap.sh');

function program(name: string): void {
  writeTree(root, { [name]: `#!/bin/sh\ntouch '${marker}'\n` });
  chmodSync(join(root, name), 0o755);
}

interface Attack {
  /** Settings of the repository whose value is the trap. */
  readonly local?: readonly string[];
  /** Settings in the user's configuration whose value is the trap. */
  readonly global?: readonly string[];
  readonly prepare?: () => void;
  readonly run: readonly string[];
}

const attacks: Readonly<Record<string, Attack>> = {
  'a file system monitor': { local: ['core.fsmonitor'], run: ['status'] },
  'a hook in another folder': {
    prepare: () => {
      program('hooks/post-index-change');
      git('config', 'core.hooksPath', 'hooks');
    },
    run: ['update-index', '--force-write-index'],
  },
  'a hook of the repository': {
    prepare: () => program('.git/hooks/pre-commit'),
    run: ['commit', '-am', 'two'],
  },
  'an editor': { local: ['core.editor'], run: ['commit', '-a'] },
  'an editor for a rebase': {
    local: ['sequence.editor'],
    prepare: () => git('commit', '-qam', 'two'),
    run: ['rebase', '-i', 'HEAD~1'],
  },
  'a transport with SSH': {
    local: ['core.sshCommand'],
    run: ['fetch', 'ssh://example.invalid/x'],
  },
  'a transport that the repository allows on its own': {
    local: ['core.sshCommand'],
    prepare: () => git('config', 'protocol.ssh.allow', 'always'),
    run: ['fetch', 'ssh://example.invalid/x'],
  },
  'a transport that is a program': {
    prepare: () => {
      git('config', 'protocol.ext.allow', 'always');
      git('config', 'remote.origin.url', `ext::${trap()}`);
    },
    run: ['fetch', 'origin'],
  },
  'a program at the other end of a local transport': {
    local: ['remote.origin.uploadpack'],
    prepare: () => git('config', 'remote.origin.url', root),
    run: ['fetch', 'origin'],
  },
  'a proxy of the git protocol': {
    local: ['core.gitProxy'],
    run: ['fetch', 'git://example.invalid/x'],
  },
  'a helper that has passwords': {
    local: ['credential.helper'],
    run: ['credential', 'fill'],
  },
  'a program that asks for a password': {
    local: ['core.askPass'],
    run: ['credential', 'fill'],
  },
  'a program that checks signatures': {
    local: ['gpg.program'],
    prepare: signLastCommit,
    run: ['log', '--show-signature'],
  },
  'a partial clone without a file': {
    local: ['core.sshCommand'],
    prepare: () => {
      const blob = git('rev-parse', 'HEAD:a.txt');
      rmSync(join(root, '.git/objects', blob.slice(0, 2), blob.slice(2)));
      git('config', 'remote.origin.url', 'ssh://example.invalid/x');
      git('config', 'remote.origin.promisor', 'true');
      git('config', 'core.repositoryFormatVersion', '1');
      git('config', 'extensions.partialClone', 'origin');
    },
    run: ['show', 'HEAD'],
  },
  'a monitor of an inner repository': {
    prepare: () => {
      git('init', '-q', 'inner');
      git('-C', 'inner', 'commit', '--allow-empty', '-qm', 'inner');
      git('-C', 'inner', 'config', 'core.fsmonitor', trap());
      git('add', 'inner');
    },
    run: ['status'],
  },
  'a folder that is a bare repository itself': {
    prepare: () => {
      rmSync(join(root, '.git'), { recursive: true });
      for (const name of ['objects', 'refs']) mkdirSync(join(root, name));
      const config = `[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ${root}\nfsmonitor = ${trap()}\n`;
      writeTree(root, { HEAD: 'ref: refs/heads/main\n', config });
      git('--git-dir=.', '-c', 'core.fsmonitor=false', 'add', 'a.txt');
      writeFileSync(join(root, 'a.txt'), 'three\n');
    },
    run: ['status'],
  },
  'a filter of the user': {
    global: ['filter.x.clean'],
    prepare: () => writeTree(root, { '.gitattributes': '* filter=x\n' }),
    run: ['status'],
  },
  'a text converter of the user': {
    global: ['diff.x.textconv'],
    prepare: () => writeTree(root, { '.gitattributes': '* diff=x\n' }),
    run: ['diff'],
  },
  'a diff program of the user': { global: ['diff.external'], run: ['diff'] },
  'an alias of the user': {
    prepare: () => git('config', '--global', 'alias.see', `!${trap()}`),
    run: ['see'],
  },
  'a file that the configuration of the user includes': {
    prepare: () => {
      writeTree(root, { more: `[core]\nfsmonitor = ${trap()}\n` });
      git('config', '--global', `includeIf.gitdir:${root}/.path`, join(root, 'more'));
    },
    run: ['status'],
  },
};

/** Replaces the last commit with one that has an invalid signature. */
function signLastCommit(): void {
  const signature = 'gpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n';
  const text = spawnSync('git', ['cat-file', 'commit', 'HEAD'], {
    ...{ cwd: root, env: user, encoding: 'utf8' },
  }).stdout.replace('\n\n', `\n${signature}`);
  const signed = spawnSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], {
    ...{ cwd: root, env: user, encoding: 'utf8', input: text },
  }).stdout.trim();
  git('update-ref', 'HEAD', signed);
}

/** Runs git and returns whether the trap ran. */
function springsTrap(words: readonly string[], env: typeof user): boolean {
  rmSync(marker, { force: true });
  const input = 'protocol=https\nhost=example.invalid\n\n';
  spawnSync('git', words, { cwd: root, env, input, timeout: 20_000, killSignal: 'SIGKILL' });
  return existsSync(marker);
}

test.for(Object.entries(attacks))('attack 3: %s does not run', ([, attack]) => {
  const { local = [], global = [], prepare, run } = attack;
  prepare?.();
  for (const name of local) git('config', name, trap());
  for (const name of global) git('config', '--global', name, trap());
  const safe = gitSafetyEnv(user, { root });
  expect(springsTrap(run, safe)).toBe(false);
  // Without protection the same command runs the program.
  expect(springsTrap(run, user)).toBe(true);
});

test.for([
  ['GIT_EXTERNAL_DIFF', ['diff']],
  ['GIT_SSH', ['fetch', 'ssh://example.invalid/x']],
  ['GIT_SSH_COMMAND', ['fetch', 'ssh://example.invalid/x']],
  ['GIT_EDITOR', ['commit', '-a']],
  ['EDITOR', ['commit', '-a']],
  ['GIT_ASKPASS', ['credential', 'fill']],
  ['SSH_ASKPASS', ['credential', 'fill']],
  ['GIT_PROXY_COMMAND', ['fetch', 'git://example.invalid/x']],
] as const)('attack 3: the variable %s runs no program', ([name, words]) => {
  const env = { ...user, [name]: trap() };
  expect(springsTrap(words, gitSafetyEnv(env, { root }))).toBe(false);
  expect(springsTrap(words, env)).toBe(true);
});
