import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { processesIn } from '../testing/processes.ts';
import {
  agentKey,
  attackAgent,
  attacksAs,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';

// The sandbox of a command in the background has the same guards as that of any other command.

endAgents();

describe.for(sandboxUsers)('as %s', (user) => {
  test('18.239: attack: a background command leaves the sandbox', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/config': '[core]\n\tbare = false\n',
      '.git/objects/x': '',
      '.git/refs/x': '',
    });
    agent.write(agent.home, { '.ssh/id_ed25519': 'secret key' });
    const attack = [
      'touch inside',
      `touch ${agent.outside}/outside`,
      'echo evil >> .git/config',
      'mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit',
      `cat ${agent.home}/.ssh/id_ed25519`,
      'env',
      'getent hosts example.com && echo online',
      'echo done',
    ].join('; ');
    const text = await agent.run(attack, {
      background: 'wait',
      options: { hide: [join(agent.home, '.ssh')] },
    });
    expect(existsSync(join(agent.workspace, 'inside'))).toBe(true);
    expect(existsSync(join(agent.outside, 'outside'))).toBe(false);
    expect(existsSync(join(agent.workspace, '.git/hooks/pre-commit'))).toBe(false);
    for (const leaked of ['secret key', agentKey, 'online']) expect(text).not.toContain(leaked);
  });

  test('18.290: attack: protected files of a command stay if the agent ends at once', async (context) => {
    const agent = await attackAgent(user, context);
    const evil = 'while :; do echo evil > .npmrc; mkdir -p .vscode; touch started; done';
    const attack = `trap "" TERM INT HUP; ${evil}`;
    const text = await agent.run(attack, { background: 'kill', guarded: ['.npmrc', '.vscode'] });
    expect(text).toContain(`The sandbox renamed ${join(agent.workspace, '.npmrc')}`);
    expect(processesIn(agent.workspace)).toEqual([]);
    const names = readdirSync(agent.workspace);
    expect(names).not.toContain('.npmrc');
    expect(names).not.toContain('.vscode');
  });

  test.for([
    ['a repository', 'git init -q v; git -C v config core.fsmonitor evil', 'v/.git'],
    ['a bare repository', 'git init -q --bare v; git -C v config core.fsmonitor evil', 'v/HEAD'],
    [
      'a rebase',
      'mkdir .git/rebase-merge; echo exec evil > .git/rebase-merge/git-rebase-todo',
      '.git/rebase-merge',
    ],
  ] as const)(
    '18.854: attack: a command creates %s, and the agent ends at once',
    async ([, create, renamed], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, {
        ...{ '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': '[core]\n\tbare = false\n' },
        ...{ '.git/objects/x': '', '.git/refs/x': '' },
      });
      const attack = `trap "" TERM INT HUP; ${create}; touch started; sleep 1000`;
      const text = await agent.run(attack, { background: 'kill' });
      expect(text).toContain(`The sandbox renamed ${join(agent.workspace, renamed)},`);
      expect(existsSync(join(agent.workspace, renamed))).toBe(false);
    },
  );

  const evil = 'git init -q v; git -C v config core.fsmonitor evil';
  test.for(
    attacksAs(user, [
      ['without the permission to write', `${evil}; chmod 555 v`],
      ['without any permission', `${evil}; chmod 000 v`],
      ['that is deep in such folders', `mkdir -p a/b; cd a/b; ${evil}; chmod 500 . ..`],
      ['beside many folders', `mkdir many; (cd many; seq 50001 | xargs mkdir; cd 50001; ${evil})`],
      ['that is bare', 'git init -q --bare v; chmod 555 v'],
    ] as const),
  )(
    '18.1440: attack: a command creates a repository in a folder %s, and the agent ends at once',
    async ([, create], context) => {
      const agent = await attackAgent(user, context);
      const command = `trap "" TERM INT HUP; ${create}; cd '${agent.workspace}'; touch started; sleep 1000`;
      await agent.run('', { input: { command }, background: 'kill' });
      const find = ['.', '-name', '.git', '-o', '-path', './v/HEAD'];
      execFileSync('chmod', ['-R', 'u+rwx', agent.workspace]);
      expect(execFileSync('find', find, { cwd: agent.workspace, encoding: 'utf8' })).toBe('');
    },
  );

  test('18.240: attack: a background command survives the end of the agent', async (context) => {
    const agent = await attackAgent(user, context);
    const command = '(trap "" TERM HUP; setsid sleep 1000 &) ; touch started; sleep 1000';
    await agent.run(command, { background: 'leave' });
    await expect.poll(() => existsSync(join(agent.workspace, 'started'))).toBe(true);
    expect(processesIn(agent.workspace).length).toBeGreaterThan(0);
    process.kill(agent.pid, 'SIGKILL');
    await expect.poll(() => processesIn(agent.workspace)).toEqual([]);
  });
});
