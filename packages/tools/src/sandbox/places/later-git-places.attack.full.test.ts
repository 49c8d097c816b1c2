import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type JsonObject, sessionId, toolCallId } from '@millrace/core';
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import type { Sandbox } from '../../contract/sandbox.ts';
import { approveByPolicy } from '../../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../../permissions/permission-policy.ts';
import type { PermissionRule } from '../../permissions/permission-rule.ts';
import { bashTool } from '../../shell/bash-tool.ts';
import {
  type AttackedAgent,
  attackAgent,
  endAgents,
  sandboxUsers,
} from '../../testing/sandbox/use-sandbox.ts';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';
import { runTool } from '../../testing/tool-context.ts';
import { createWorkspace } from '../../workspace/workspace.ts';
import { approveInSandbox } from '../approve-in-sandbox.ts';
import { findSandbox } from '../find-sandbox.ts';
import { unaskedReading } from '../unasked-reading.ts';

// While a command runs, the user changes the settings of git or checks out another commit. Git then runs files of the
// workspace that it did not run before.

endAgents();

const repository = (config = '') => ({
  ...{ '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': config },
  ...{ '.git/refs/x': '', '.git/objects/x': '' },
});

const gitlink =
  'update-index --add --cacheinfo 160000,1234567890123456789012345678901234567890,sub';

function git(cwd: string, line: string): void {
  const who = ['-c', 'safe.directory=*', '-c', 'user.name=a', '-c', 'user.email=a@b'];
  execFileSync('git', [...who, ...line.split(' ')], { cwd, stdio: 'ignore' });
}

async function started(agent: Pick<AttackedAgent, 'workspace'>): Promise<void> {
  while (!existsSync(join(agent.workspace, 'started'))) await setTimeout(5);
}

/** The changes of the user, and the place that git uses afterwards. */
const changes: readonly (readonly [name: string, change: (root: string) => void, place: string])[] =
  [
    ['hooks', (root) => git(root, 'config core.hooksPath scripts'), 'scripts'],
    ['a filter', (root) => git(root, 'config filter.x.clean ./scripts/run'), 'scripts/run'],
    ['settings', (root) => git(root, 'config include.path ../team.inc'), 'team.inc'],
    [
      'a link to a hook',
      (root) => symlinkSync('../../scripts/run', join(root, '.git/hooks/pre-commit')),
      '.git/hooks/pre-commit',
    ],
    [
      'a submodule',
      (root) => {
        mkdirSync(join(root, 'sub'));
        git(root, gitlink);
      },
      'sub',
    ],
  ];

describe.for(sandboxUsers)('as %s', (user) => {
  test.for(changes)(
    '18.1781: attack: the user adds %s while a command runs, and the command changes it',
    async ([, change, place], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { ...repository(), 'scripts/run': 'good', '.git/hooks/x': '' });
      const running = agent.run('', { input: { command: 'touch started; sleep 1000' } });
      await started(agent);
      change(agent.workspace);
      const text = await running;
      expect(text).toContain('It was stopped by the sandbox');
      expect(text).toContain(`Git now uses ${join(agent.workspace, place)}`);
    },
  );

  test.for([
    ['an empty .git', 'mkdir -p sub/.git'],
    ['a broken .git', 'mkdir sub; echo x > sub/.git'],
    [
      'a repository',
      'mkdir -p sub/.git/objects sub/.git/refs; echo ref: refs/heads/main > sub/.git/HEAD; touch sub/.git/config',
    ],
  ])(
    '18.1830: attack: a command creates %s at the path of a later submodule',
    async ([, create], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { 'a.txt': '' });
      git(agent.workspace, 'init -q');
      if (user === 'nobody') chownTree(agent.workspace);
      const command = `${create}; touch started; sleep 1000`;
      const running = agent.run('', { input: { command } });
      await started(agent);
      git(agent.workspace, gitlink);
      const text = await running;
      expect(text).toContain('It was stopped by the sandbox');
      expect(text).toContain(`Git now uses ${join(agent.workspace, 'sub')}`);
      expect(existsSync(join(agent.workspace, 'sub/.git/HEAD'))).toBe(false);
    },
  );

  test('18.1780: attack: a command replaces a program of git settings after git has replaced it', async (context) => {
    const agent = await attackAgent(user, context);
    const config = '[filter "x"]\n\tclean = ./tools/run\n';
    agent.write(agent.workspace, { ...repository(config), 'tools/run': 'good' });
    const command = `touch started; echo evil > tools/evil
      until mv -f tools/evil tools/run; do sleep 0.01; done 2>/dev/null; sleep 1000`;
    const running = agent.run('', { input: { command } });
    await started(agent);
    agent.write(agent.workspace, { 'tools/new': 'newer' });
    renameSync(join(agent.workspace, 'tools/new'), join(agent.workspace, 'tools/run'));
    expect(await running).toContain('It was stopped by the sandbox');
    expect(readFileSync(join(agent.workspace, 'tools/run'), 'utf8')).toBe('good');
    expect(readdirSync(join(agent.workspace, 'tools')).join()).toContain('run.blocked-by-sandbox-');
  });

  test('18.1784: the user works with git while a command runs', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, { 'a.txt': '', 'scripts/run': '' });
    git(agent.workspace, 'init -q');
    if (user === 'nobody') chownTree(agent.workspace);
    const command =
      'touch started; until [ -e end ]; do sleep 0.02; done; sleep 2; echo still here';
    const running = agent.run('', { input: { command } });
    await started(agent);
    git(agent.workspace, 'config user.name b');
    git(agent.workspace, 'add a.txt');
    git(agent.workspace, 'commit -qm one');
    git(agent.workspace, 'switch -qc other');
    writeFileSync(join(agent.workspace, 'end'), '');
    expect(await running).toContain('still here');
  });

  test.for([
    ['[core]\n\thooksPath = src/../hooks\n', 'elsewhere/hooks/pre-commit'],
    ['[include]\n\tpath = ../src/../team.inc\n', 'elsewhere/team.inc'],
  ] as const)(
    '18.1786: attack: a link is before the .. in the setting %j',
    async ([config, place], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, {
        ...{ ...repository(config), 'hooks/x': '', 'team.inc': '', 'other/src/x': '' },
        ...{ 'elsewhere/src/x': '', [place]: 'good', 'elsewhere/hooks/x': '' },
      });
      symlinkSync('elsewhere/src', join(agent.workspace, 'src'));
      const evil = `echo evil > ${place}; rm -f ${place}; echo evil > ${place}; ln -sfn other/src src; true`;
      await agent.run('', { input: { command: evil } });
      expect(readFileSync(join(agent.workspace, place), 'utf8')).toBe('good');
      // Git reads the file through the link.
      const read = `${agent.workspace}/src/../${place.slice('elsewhere/'.length)}`;
      expect(readFileSync(read, 'utf8')).toBe('good');
    },
  );

  test.for([
    '[core]\n\thooksPath = %(prefix)/../project/hooks\n',
    '[core]\n\thooksPath = ~root/../project/hooks\n',
    '[include]\n\tpath = %(prefix)/../project/team.inc\n',
  ])('18.1786: attack: nobody knows where the setting %j leads', async (config, context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, repository(config));
    const text = await agent.run('', { input: { command: 'touch ran' } });
    expect(text).toContain('Replace a path by an absolute one');
    expect(existsSync(join(agent.workspace, 'ran'))).toBe(false);
  });

  test('18.1787: attack: a file of a repository in a folder logs has a second name', async (context) => {
    const agent = await attackAgent(user, context);
    mkdirSync(join(agent.workspace, 'logs/x'), { recursive: true });
    agent.write(join(agent.workspace, 'logs/x'), repository());
    linkSync(join(agent.workspace, 'logs/x/.git/HEAD'), join(agent.workspace, 'alias'));
    const text = await agent.run('', { input: { command: 'echo evil > alias' } });
    expect(text).toContain('several hard links');
    expect(readFileSync(join(agent.workspace, 'alias'), 'utf8')).toBe('ref: refs/heads/main\n');
  });

  test('18.1785: attack: an index that cannot be read hides a submodule', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, { 'sub/x': '' });
    git(agent.workspace, 'init -q');
    git(agent.workspace, gitlink);
    const index = join(agent.workspace, '.git/index');
    writeFileSync(index, readFileSync(index).subarray(0, 40));
    if (user === 'nobody') chownTree(agent.workspace);
    const text = await agent.run('', { input: { command: 'mkdir sub/.git' } });
    expect(text).toContain('cannot be read');
    expect(existsSync(join(agent.workspace, 'sub/.git'))).toBe(false);
  });
});

function chownTree(root: string): void {
  chownSync(root, 65_534, 65_534);
  execFileSync('chown', ['-R', '65534:65534', root]);
}

async function openSandbox(context: Pick<TestContext, 'skip'>): Promise<Sandbox> {
  const { sandbox, ...missing } = await findSandbox();
  if (sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(JSON.stringify(missing));
    return context.skip(JSON.stringify(missing));
  }
  onTestFinished(() => sandbox.close());
  return sandbox;
}

test('18.1782: attack: a later command changes hooks that the user has set while another command runs', async (context) => {
  const sandbox = await openSandbox(context);
  const root = temporaryFolder();
  writeTree(root, { ...repository(), 'scripts/pre-commit': 'good' });
  const bash = bashTool({ workspace: { root }, sandbox });
  const command = 'touch started; until [ -e end ]; do sleep 0.02; done';
  // A command that may change git is not stopped, because it can change the settings itself.
  const first = runTool(bash, { command, change_git: true });
  await started({ workspace: root });
  git(root, 'config core.hooksPath scripts');
  const evil = 'echo evil > scripts/pre-commit';
  expect((await runTool(bash, { command: evil })).text).toContain('End the other commands');
  writeFileSync(join(root, 'end'), '');
  await first;
  expect(readFileSync(join(root, 'scripts/pre-commit'), 'utf8')).toBe('good');
  await sandbox.settled();
});

describe('a prefix rule for git', () => {
  const rules: readonly PermissionRule[] = ['git add', 'git commit'].map((command) => ({
    ...{ tool: 'bash', command, decision: 'allow' },
  }));

  /** Runs commands with a policy. The result has the decision, and the output if the decision is `allow`. */
  async function ruledBash(context: Pick<TestContext, 'skip'>, given = rules) {
    const sandbox = await openSandbox(context);
    const root = temporaryFolder();
    git(root, 'init -q');
    writeTree(root, { 'a.txt': '' });
    const policy = permissionPolicy({ root, rules: given, freeReading: true, hidesDenied: true });
    const reading = unaskedReading(
      () => policy,
      () => [],
      () => sandbox.isChanging(root),
    );
    const byPolicy = approveByPolicy(policy, createWorkspace({ root }));
    const approve = approveInSandbox(() => policy, byPolicy, reading);
    const bash = bashTool({ workspace: { root }, sandbox, reading });
    const decide = async (input: JsonObject, id = 'c1') => {
      const call = { kind: 'tool_call', toolCallId: toolCallId(id), name: 'bash', input } as const;
      const pending = { call: { ...call, arguments: '' }, tool: bash, name: 'bash', input };
      const at = { session: sessionId('s'), turn: 1, isAnswered: false };
      const ruling = await approve(pending as never, at as never);
      return typeof ruling === 'string' ? { decision: ruling, reason: '' } : ruling;
    };
    return { root, sandbox, bash, decide };
  }

  test('18.1831: attack: allows git while another command changes a repository', async (context) => {
    const { root, bash, decide } = await ruledBash(context);
    const add = { command: 'git add -A' };
    expect((await decide(add)).decision).toBe('allow');
    const command = 'touch started; until [ -e end ]; do sleep 0.02; done';
    const reading = unaskedReading(() => permissionPolicy({ root, rules: [] }));
    expect(reading.isChanging).toBeUndefined();
    const running = runTool(bash, { command });
    await started({ workspace: root });
    const asked = await decide(add, 'c2');
    expect(asked.decision).toBe('ask');
    expect(asked.reason).toContain('Another command is running');
    // The decision of before does not count any more.
    const { text } = await runTool(bash, add);
    expect(text).toContain('only while no other command can change files');
    writeFileSync(join(root, 'end'), '');
    await running;
    expect((await runTool(bash, add)).text).toBe('No output.');
  });

  test('18.1832: attack: another command starts while git runs', async (context) => {
    const { root, bash } = await ruledBash(context);
    mkdirSync(join(root, '.git/hooks'), { recursive: true });
    writeTree(root, {
      '.git/hooks/pre-commit': '#!/bin/sh\ntouch started\nuntil [ -e end ]; do sleep 0.02; done\n',
    });
    execFileSync('chmod', ['755', join(root, '.git/hooks/pre-commit')]);
    const commit = 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one';
    const running = runTool(bash, { command: commit });
    await started({ workspace: root });
    let isOver = false;
    const later = runTool(bash, { command: 'touch x; echo later' }).finally(() => {
      isOver = true;
    });
    await setTimeout(100);
    expect(isOver).toBe(false);
    writeFileSync(join(root, 'end'), '');
    await running;
    expect((await later).text).toBe('later');
  });

  test('18.1831: a rule for exactly this line still allows it', async (context) => {
    const line = 'git add -A';
    const exact = { tool: 'bash', command: line, exact: true, decision: 'allow' } as const;
    const { root, bash, decide } = await ruledBash(context, [exact]);
    const command = 'touch started; until [ -e end ]; do sleep 0.02; done';
    const running = runTool(bash, { command });
    await started({ workspace: root });
    expect((await decide({ command: line })).decision).toBe('allow');
    writeFileSync(join(root, 'end'), '');
    await running;
  });
});
