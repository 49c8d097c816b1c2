import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { toolCallId } from '@millrace/core';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';

// Each attack is a hostile repository that an archive could contain. A model then tries all git commands that
// need no approval. The attack succeeds if git runs the program of the repository, or shows a file from
// outside.

let home: string;
let root: string;
let marker: string;

beforeEach(() => {
  home = temporaryFolder();
  root = join(home, 'project');
  marker = join(home, 'the-trap-ran');
  writeTree(root, { 'a.txt': 'one\n', 'trap.sh': `#!/bin/sh\ntouch '${marker}'\ncat\n` });
  execFileSync('chmod', ['+x', join(root, 'trap.sh')]);
  vi.stubEnv('HOME', home);
  vi.stubEnv('XDG_CONFIG_HOME', join(home, '.config'));
  for (const name of ['NAME', 'EMAIL']) {
    vi.stubEnv(`GIT_AUTHOR_${name}`, 'a@example.com');
    vi.stubEnv(`GIT_COMMITTER_${name}`, 'a@example.com');
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const git = (...words: string[]) =>
  execFileSync('git', words, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
const trap = () => join(root, 'trap.sh');

/** Creates a repository with one commit and a changed file. */
function plainRepository(): void {
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'one');
  writeFileSync(join(root, 'a.txt'), 'two\n');
}

/** Creates a repository inside this one. Its file system monitor is the trap. */
function innerRepository(): void {
  git('init', '-q', 'inner');
  git('-C', 'inner', 'commit', '--allow-empty', '-qm', 'inner');
  git('-C', 'inner', 'config', 'core.fsmonitor', trap());
  writeFileSync(join(root, 'inner/new.txt'), '');
  git('-c', 'advice.addEmbeddedRepo=false', 'add', 'inner');
}

/** Makes the folder itself look like a bare repository whose configuration runs the trap. */
function bareRoot(): void {
  for (const name of ['objects', 'refs']) mkdirSync(join(root, name), { recursive: true });
  const config = `[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ${root}\nfsmonitor = ${trap()}\n`;
  writeTree(root, { HEAD: 'ref: refs/heads/main\n', config, '.gitattributes': '* diff=x\n' });
  appendFileSync(join(root, 'config'), `[diff "x"]\ntextconv = ${trap()}\n`);
}

const commands = [
  'git status',
  'git diff',
  'git diff --cached',
  'git log -p',
  'git show HEAD',
  'git blame a.txt',
  'git ls-files --others --modified',
  'git branch -a -v',
  'git rev-parse HEAD',
];

/** Runs a command like an agent, only if the policy allows it without asking. */
async function runUnasked(command: string): Promise<string> {
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root: workspace.root, freeReading: true });
  const tool = bashTool({ workspace, timeoutMs: 20_000 });
  const input = { command };
  const call = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'bash' } as const;
  const pending = {
    name: call.name,
    call: { ...call, arguments: '' },
    tool,
    input,
    summary: command,
  };
  const decided = await approveByPolicy(policy, workspace)(pending);
  if ((typeof decided === 'string' ? decided : decided.decision) !== 'allow') return 'asked';
  return (await runTool(tool, input)).text;
}

const attacks: Readonly<Record<string, () => void>> = {
  'garbage in .git/HEAD makes the folder itself a bare repository': () => {
    plainRepository();
    bareRoot();
    writeFileSync(join(root, '.git/HEAD'), 'garbage\n');
  },
  'an empty .git/HEAD makes the folder itself a bare repository': () => {
    plainRepository();
    bareRoot();
    writeFileSync(join(root, '.git/HEAD'), '');
  },
  'a .git/HEAD with a reference outside refs makes the folder a bare repository': () => {
    plainRepository();
    bareRoot();
    writeFileSync(join(root, '.git/HEAD'), 'ref: heads/main\n');
  },
  'a split index hides an inner repository': () => {
    plainRepository();
    innerRepository();
    git('-c', 'splitIndex.maxPercentChange=100', 'update-index', '--split-index');
    writeFileSync(join(root, 'b.txt'), '');
    git('-c', 'splitIndex.maxPercentChange=100', 'add', 'b.txt');
  },
  'an index of version 4 has an inner repository': () => {
    plainRepository();
    innerRepository();
    git('update-index', '--index-version', '4');
  },
  'an index of version 2 has an inner repository': () => {
    plainRepository();
    innerRepository();
  },
  'a link as .git leads to a configuration with a monitor': () => {
    plainRepository();
    git('config', 'core.fsmonitor', trap());
    renameSync(join(root, '.git'), join(root, 'other'));
    symlinkSync('other', join(root, '.git'));
  },
  'a file as .git leads to a configuration with a monitor': () => {
    plainRepository();
    git('config', 'core.fsmonitor', trap());
    renameSync(join(root, '.git'), join(root, 'other'));
    writeFileSync(join(root, '.git'), 'gitdir: other\n');
  },
  'commondir leads to a configuration with a monitor': () => {
    plainRepository();
    git('config', 'core.fsmonitor', trap());
    execFileSync('cp', ['-r', join(root, '.git'), join(root, 'other')]);
    git('config', '--unset', 'core.fsmonitor');
    writeFileSync(join(root, '.git/commondir'), '../other\n');
  },
  'a configuration of the worktree has a monitor': () => {
    plainRepository();
    git('config', 'extensions.worktreeConfig', 'true');
    git('config', '--worktree', 'core.fsmonitor', trap());
  },
  'an included file has a monitor': () => {
    plainRepository();
    writeFileSync(join(root, 'more'), `[core]\nfsmonitor = ${trap()}\n`);
    git('config', 'include.path', '../more');
  },
  'a file that is included for this folder has a monitor': () => {
    plainRepository();
    writeFileSync(join(root, 'more'), `[core]\nfsmonitor = ${trap()}\n`);
    git('config', 'includeIf.gitdir:/**.path', '../more');
  },
  'attributes choose a filter of the repository': () => {
    plainRepository();
    git('config', 'filter.x.clean', trap());
    writeFileSync(join(root, '.gitattributes'), '* filter=x\n');
  },
  'attributes choose a filter that the user configured for other folders': () => {
    plainRepository();
    git('config', '--global', 'filter.x.clean', trap());
    writeFileSync(join(root, '.gitattributes'), '* filter=x\n');
  },
  'attributes choose a diff program that the user configured for other folders': () => {
    plainRepository();
    git('config', '--global', 'diff.x.command', trap());
    writeFileSync(join(root, '.gitattributes'), '* diff=x\n');
  },
  'attributes choose a text converter that the user configured for other folders': () => {
    plainRepository();
    git('config', '--global', 'diff.x.textconv', trap());
    writeFileSync(join(root, '.gitattributes'), '* diff=x\n');
  },
  'the repository has an external diff program': () => {
    plainRepository();
    git('config', 'diff.external', trap());
  },
  'the repository has hooks in another folder': () => {
    plainRepository();
    writeTree(root, { 'hooks/post-index-change': `#!/bin/sh\n${trap()}\n` });
    execFileSync('chmod', ['+x', join(root, 'hooks/post-index-change')]);
    git('config', 'core.hooksPath', 'hooks');
    writeFileSync(join(root, 'trap.sh'), `#!/bin/sh\ntouch '${marker}'\n`);
  },
  'signatures are shown, and the repository has a program that checks them': () => {
    plainRepository();
    const commit = git('cat-file', 'commit', 'HEAD').replace(
      '\n\n',
      '\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n',
    );
    const signed = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], {
      cwd: root,
      input: commit,
      encoding: 'utf8',
    });
    git('update-ref', 'HEAD', signed.trim());
    git('config', '--global', 'log.showSignature', 'true');
    git('config', '--global', 'gpg.program', trap());
  },
  'a partial clone fetches a missing file with the program of the repository': () => {
    plainRepository();
    missingBlob();
    git('config', 'core.sshCommand', trap());
  },
};

/** Deletes the content of a tracked file, and configures a remote that claims to have it. */
function missingBlob(): void {
  const blob = git('rev-parse', 'HEAD:a.txt').trim();
  rmSync(join(root, '.git/objects', blob.slice(0, 2), blob.slice(2)));
  git('config', 'remote.origin.url', 'ssh://example.invalid/x');
  git('config', 'remote.origin.promisor', 'true');
  git('config', 'extensions.partialClone', 'origin');
  git('config', 'core.repositoryFormatVersion', '1');
}

test.for(Object.keys(attacks))('attack 3: %s', async (name) => {
  attacks[name]?.();
  for (const command of commands) {
    await runUnasked(command);
    expect(existsSync(marker), command).toBe(false);
  }
});

/** Creates a repository of the user outside the workspace, with a secret. */
function otherRepository(): string {
  const other = join(home, 'private');
  writeTree(other, { 'k.txt': 'the-secret-of-another-folder\n' });
  const inOther = (...words: string[]) => execFileSync('git', words, { cwd: other });
  inOther('init', '-q', '-b', 'main');
  inOther('add', '.');
  inOther('commit', '-qm', 'one');
  return join(other, '.git');
}

const leaks: Readonly<Record<string, () => void>> = {
  'alternates and a copied reference show another repository': () => {
    plainRepository();
    const other = otherRepository();
    writeTree(root, { '.git/objects/info/alternates': `${other}/objects\n` });
    symlinkSync(join(other, 'refs/heads/main'), join(root, '.git/refs/heads/x'));
  },
  'links in .git to objects and references show another repository': () => {
    plainRepository();
    const other = otherRepository();
    execFileSync('git', ['repack', '-adq'], { cwd: join(home, 'private') });
    rmSync(join(root, '.git/objects/pack'), { recursive: true });
    symlinkSync(join(other, 'objects/pack'), join(root, '.git/objects/pack'));
    rmSync(join(root, '.git/refs/heads'), { recursive: true });
    symlinkSync(join(other, 'refs/heads'), join(root, '.git/refs/heads'));
  },
  'a link as the folder of all objects shows another repository': () => {
    plainRepository();
    const other = otherRepository();
    rmSync(join(root, '.git/objects'), { recursive: true });
    symlinkSync(join(other, 'objects'), join(root, '.git/objects'));
    symlinkSync(join(other, 'refs/heads/main'), join(root, '.git/refs/heads/x'));
  },
};

test.for(Object.keys(leaks))('attack 3: %s', async (name) => {
  leaks[name]?.();
  for (const command of ['git show x', 'git log -p --all', 'git show main'])
    expect(await runUnasked(command), command).not.toContain('the-secret-of-another-folder');
});

test('attack 3: a variable of the environment makes git use an unchecked repository', async () => {
  plainRepository();
  git('init', '-q', 'elsewhere');
  git('-C', 'elsewhere', 'config', 'core.fsmonitor', trap());
  vi.stubEnv('GIT_DIR', join(root, 'elsewhere/.git'));
  for (const command of commands) await runUnasked(command);
  expect(existsSync(marker)).toBe(false);
});
