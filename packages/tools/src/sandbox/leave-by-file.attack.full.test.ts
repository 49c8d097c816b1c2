import { spawnSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { bashTool } from '../shell/bash-tool.ts';
import {
  type AttackedAgent,
  attackAgent,
  countConnections,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';
import { runTool } from '../testing/tool-context.ts';
import { findSandbox } from './find-sandbox.ts';

// Commands that try to read and change files that the sandbox protects.

endAgents();

const git = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  '.git/config': '[core]\n\tbare = false\n',
  '.git/hooks/pre-commit': '#!/bin/sh\n',
  '.git/objects/x': '',
  '.git/refs/x': '',
};

describe.for(sandboxUsers)('as %s', (user) => {
  test('attack: a command writes outside of the workspace', async (context) => {
    const agent = await attackAgent(user, context);
    await agent.run(`echo evil > ${agent.outside}/made; cp /bin/true ${agent.home}/.bashrc`);
    expect(existsSync(join(agent.outside, 'made'))).toBe(false);
    expect(existsSync(join(agent.home, '.bashrc'))).toBe(false);
  });

  test('attack: a command writes outside through a symbolic link', async (context) => {
    const agent = await attackAgent(user, context);
    symlinkSync(agent.outside, join(agent.workspace, 'link'));
    await agent.run(`echo evil > link/made; ln -s ${agent.outside}/other l; echo evil > l`);
    expect(readdirSync(agent.outside)).toEqual([]);
  });

  test('attack: a command hard-links a file from outside and changes it', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.outside, { file: 'good' });
    await agent.run(`ln ${agent.outside}/file here && echo evil > here`);
    expect(readFileSync(join(agent.outside, 'file'), 'utf8')).toBe('good');
  });

  test('attack: a command reads keys of the user', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.home, { '.ssh/id': 'hush', '.aws/credentials': 'hush', '.netrc': 'hush' });
    agent.write(agent.home, {
      '.config/gcloud/key': 'hush',
      '.bash_history': 'hush',
      real: 'hush',
    });
    symlinkSync('real', join(agent.home, '.npmrc'));
    const env = { hide: ['.ssh', '.aws', '.netrc', '.config/gcloud', '.bash_history', '.npmrc'] };
    const hide = env.hide.map((name) => join(agent.home, name));
    const text = await agent.run(
      'cat ~/.ssh/id ~/.aws/credentials ~/.netrc ~/.npmrc ~/real ~/.bash_history; cat -r ~ 2>&1; grep -r hush ~; chmod -R 777 ~/.ssh; cat ~/.ssh/id; cat /etc/shadow',
      { options: { hide } },
    );
    expect(text).not.toContain('hush\n');
    expect(text).not.toMatch(/^root:/m);
  });

  test('attack: a command reads the files of others in /tmp', async (context) => {
    const agent = await attackAgent(user, context);
    const text = await agent.run('ls -A /tmp /var/tmp /run /dev/shm');
    expect(text).not.toMatch(/millrace-|tmux|systemd|\.sock/);
  });

  describe('on the settings of git', () => {
    const isIntact = (agent: AttackedAgent) => {
      const at = (name: string) => join(agent.workspace, '.git', name);
      expect(readFileSync(at('config'), 'utf8')).toBe(git['.git/config']);
      expect(readdirSync(at('hooks'))).toEqual(['pre-commit']);
      expect(readFileSync(at('hooks/pre-commit'), 'utf8')).toBe(git['.git/hooks/pre-commit']);
      expect(existsSync(at('commondir'))).toBe(false);
      expect(existsSync(at('config.worktree'))).toBe(false);
      expect(lstatSync(join(agent.workspace, '.git')).isDirectory()).toBe(true);
      expect(existsSync(join(agent.workspace, 'HEAD'))).toBe(false);
    };

    test.for([
      [
        'writes them',
        'echo evil > .git/config; echo evil > .git/hooks/pre-commit; echo > .git/hooks/new',
      ],
      [
        'replaces them',
        'echo evil > x; mv -f x .git/config; rm -f .git/config; rm -rf .git/hooks; mkdir .git/hooks',
      ],
      [
        'writes them through a link',
        'ln -s .git/config x; echo evil > x; ln -s .git y; echo evil > y/hooks/new',
      ],
      [
        'writes them through a hard link',
        'ln .git/config x; echo evil > x; ln .git/hooks/pre-commit z; echo evil > z',
      ],
      ['renames the repository', 'mv .git old; mkdir -p .git/hooks; echo evil > .git/config'],
      ['renames the hooks', 'mv .git/hooks .git/old; mkdir .git/hooks; echo > .git/hooks/new'],
      [
        'exchanges the repository',
        `mkdir new; echo evil > new/config; perl -e 'syscall(${process.arch === 'arm64' ? 276 : 316}, -100, "new", -100, ".git", 2)'`,
      ],
      ['removes the repository', 'rm -rf .git; mkdir -p .git; echo evil > .git/config'],
      [
        'moves the settings elsewhere',
        'mkdir new; echo evil > new/config; echo ../new > .git/commondir',
      ],
      [
        'makes the workspace a bare repository',
        'mkdir objects refs; echo "ref: refs/heads/x" > HEAD; echo evil > config',
      ],
      [
        'uses git config',
        'git config core.fsmonitor evil; git config --worktree core.fsmonitor evil',
      ],
      [
        'writes through /proc',
        'echo evil > /proc/self/root/$PWD/.git/config; echo evil > /proc/self/cwd/.git/config',
      ],
      [
        'removes the workspace',
        'cd ..; mv workspace w; rm -rf workspace/.git/config; mkdir workspace',
      ],
    ] as const)('attack: a command $0', async ([, command], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, git);
      await agent.run(`${command}; true`);
      isIntact(agent);
    });

    test('attack: a command creates a repository in a workspace without one', async (context) => {
      const agent = await attackAgent(user, context);
      const text = await agent.run('mkdir .git; echo evil > .git/config; sleep 1000');
      expect(text).toContain('stopped by the sandbox');
      expect(existsSync(join(agent.workspace, '.git'))).toBe(false);
    });

    test('attack: a command creates a repository in its last moment', async (context) => {
      const agent = await attackAgent(user, context);
      await agent.run('mkdir new; echo evil > new/config; exec mv new .git');
      expect(existsSync(join(agent.workspace, '.git'))).toBe(false);
    });

    test('attack: a command creates hooks where there are none', async (context) => {
      const agent = await attackAgent(user, context);
      const { '.git/hooks/pre-commit': _, ...others } = git;
      agent.write(agent.workspace, others);
      await agent.run('mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; true');
      expect(readdirSync(join(agent.workspace, '.git/hooks'))).toEqual([]);
    });

    test('attack: a command replaces a link to the repository', async (context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { 'real/config': 'good', 'real/HEAD': '' });
      symlinkSync('real', join(agent.workspace, '.git'));
      await agent.run(
        'rm .git; mkdir .git; echo evil > .git/config; echo evil > real/config; true',
      );
      expect(lstatSync(join(agent.workspace, '.git')).isSymbolicLink()).toBe(true);
    });

    test('attack: a command changes the target of a link to the settings', async (context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { ...git, 'shared/config': 'good' });
      spawnSync('rm', [join(agent.workspace, '.git/config')]);
      symlinkSync('../shared/config', join(agent.workspace, '.git/config'));
      await agent.run(
        'echo evil > shared/config; mv shared old; mkdir shared; echo evil > shared/config; true',
      );
      expect(readFileSync(join(agent.workspace, '.git/config'), 'utf8')).toBe('good');
    });

    test('attack: a command changes hooks and settings that the settings name', async (context) => {
      const agent = await attackAgent(user, context);
      const config = '[core]\n\thooksPath = .husky\n[include] path = ../shared.conf\n';
      agent.write(agent.workspace, { ...git, '.git/config': config, 'shared.conf': 'good' });
      agent.write(agent.workspace, { '.husky/pre-commit': 'good' });
      await agent.run(
        'echo evil > .husky/pre-commit; mv .husky x; mkdir .husky; echo evil > .husky/pre-commit; echo evil > shared.conf; mv shared.conf y; echo evil > shared.conf; true',
      );
      expect(readFileSync(join(agent.workspace, '.husky/pre-commit'), 'utf8')).toBe('good');
      expect(readFileSync(join(agent.workspace, 'shared.conf'), 'utf8')).toBe('good');
    });

    test('attack: the settings have a second name from the start', async (context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, git);
      linkSync(join(agent.workspace, '.git/config'), join(agent.workspace, 'x'));
      const text = await agent.run('echo evil > x');
      expect(text).toContain('several hard links');
      isIntact(agent);
    });

    test('attack: a command changes the file .git of a worktree', async (context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { '.git': 'gitdir: /elsewhere\n' });
      await agent.run('echo "gitdir: evil" > .git; rm -f .git; mv .git x; mkdir .git; true');
      expect(readFileSync(join(agent.workspace, '.git'), 'utf8')).toBe('gitdir: /elsewhere\n');
    });
  });

  describe('in a workspace that holds the settings of the agent', () => {
    test('attack: a command replaces a parent of a protected file', async (context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { 'a/b/settings.json': 'good' });
      const options = { protect: ['a/b/settings.json'] };
      await agent.run('mv a x; mv a/b y; mkdir -p a/b; echo evil > a/b/settings.json; true', {
        options,
      });
      expect(readFileSync(join(agent.workspace, 'a/b/settings.json'), 'utf8')).toBe('good');
    });

    test('attack: a command reads and replaces a hidden folder', async (context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { 'data/sessions.db': 'hush' });
      const options = { hide: [join(agent.workspace, 'data')] };
      const text = await agent.run(
        'cat data/*; grep -r hush . ; mv data x; rmdir data; mkdir data; echo evil > data/sessions.db; true',
        { options },
      );
      expect(text).not.toMatch(/hush$/m);
      expect(readFileSync(join(agent.workspace, 'data/sessions.db'), 'utf8')).toBe('hush');
    });
  });

  describe('with less rights', () => {
    test('attack: a command of the read-only profile changes the workspace', async (context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { ...git, file: 'good' });
      const options = { profile: 'read-only' } as const;
      const text = await agent.run(
        'echo evil > file; touch new; rm file; echo ok > /tmp/x; cat /tmp/x',
        { options },
      );
      expect(readFileSync(join(agent.workspace, 'file'), 'utf8')).toBe('good');
      expect(existsSync(join(agent.workspace, 'new'))).toBe(false);
      expect(text).toMatch(/^ok$/m);
    });

    test('attack: a command that nobody approved reads what it must not', async (context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { '.env': 'hush', file: 'fine', 'keys/k': 'hush' });
      agent.write(agent.home, { notes: 'hush' });
      agent.write(agent.outside, { other: 'hush' });
      symlinkSync(join(agent.outside, 'other'), join(agent.workspace, 'link'));
      const closed = ['.env', 'keys'].map((name) => join(agent.workspace, name));
      const { port, count } = await countConnections();
      const text = await agent.run(
        `cat file; cat .env keys/k link ~/notes ${agent.outside}/other; cat < /dev/tcp/127.0.0.1/${port}; touch file`,
        { closed, options: { network: true } },
      );
      expect(text).toContain('fine');
      expect(text).not.toMatch(/hush|secret of the host/);
      expect(count()).toBe(0);
      expect(text).toContain('without a question');
    });
  });
});

test.for(['.ssh/id_ed25519', '.aws/credentials', '.gnupg/key', '.netrc', '.npmrc', '.kube/config'])(
  'attack: a command reads ~/%s',
  async (name, context) => {
    const agent = await attackAgent('self', context);
    agent.write(agent.home, { [name]: 'hush' });
    const text = await runAtHome(agent, agent.home, context, [
      `cat ~/${name}; grep -r hush ~; true`,
    ]);
    expect(text).not.toMatch(/^hush|:hush/m);
  },
);

test('attack: a home folder inside the workspace gets a start-up file or a key', async (context) => {
  const agent = await attackAgent('self', context);
  mkdirSync(join(agent.workspace, '.config/git'), { recursive: true });
  await runAtHome(agent, agent.workspace, context, [
    'echo evil > .bashrc',
    'mkdir .ssh; echo evil > .ssh/authorized_keys',
    'mv .config x; mkdir -p .config/git; echo evil > .config/git/config',
  ]);
  expect(existsSync(join(agent.workspace, '.bashrc'))).toBe(false);
  expect(existsSync(join(agent.workspace, '.ssh'))).toBe(false);
  expect(existsSync(join(agent.workspace, '.config/git/config'))).toBe(false);
});

test('attack: a command that nobody approved exchanges files with others in /tmp', async (context) => {
  const { workspace } = await attackAgent('self', context);
  const found = await findSandbox();
  if (found.sandbox === undefined) return context.skip(found.reason);
  const { sandbox } = found;
  onTestFinished(() => sandbox.close());
  const place = { place: 'closed', hide: [] } as const;
  const reading = {
    hiddenPaths: async () => [],
    allow: async () => true,
    hideDenied: async () => undefined,
    guardProtected: () => true,
    releaseProtected: () => {},
    giveEnv: () => {},
    placeOf: async () => place,
  };
  const approved = bashTool({ workspace: { root: workspace }, sandbox });
  const unasked = bashTool({ workspace: { root: workspace }, sandbox, reading });
  await runTool(approved, { command: 'echo hush > /tmp/token' });
  const read = await runTool(unasked, {
    command: 'cat /tmp/token; mkdir -p /tmp/.cache/pip; echo evil > /tmp/.cache/pip/wheel',
  });
  expect(read.text).not.toContain('hush');
  const left = await runTool(approved, { command: 'cat /tmp/.cache/pip/wheel; cat /tmp/token' });
  expect(left.text).not.toContain('evil');
  expect(left.text).toContain('hush');
});

/** Runs commands in this process. During this time, its home folder is `home`. */
async function runAtHome(
  { workspace }: AttackedAgent,
  home: string,
  context: Pick<TestContext, 'skip'>,
  commands: readonly string[],
): Promise<string> {
  const before = process.env['HOME'];
  process.env['HOME'] = home;
  onTestFinished(() => {
    process.env['HOME'] = before;
  });
  const found = await findSandbox();
  if (found.sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(found.reason);
    return context.skip(found.reason);
  }
  const { sandbox } = found;
  onTestFinished(() => sandbox.close());
  const bash = bashTool({ workspace: { root: workspace }, sandbox });
  const texts: string[] = [];
  for (const command of commands) texts.push((await runTool(bash, { command })).text);
  return texts.join('\n');
}
