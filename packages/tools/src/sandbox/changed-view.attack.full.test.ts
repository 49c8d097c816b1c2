import { toolCallId } from '@millrace/core';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Sandbox, SandboxRequest } from '../contract/sandbox.ts';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool, testPlace } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveInSandbox } from './approve-in-sandbox.ts';
import { unaskedReading } from './unasked-reading.ts';

// Files or rules change between the approval of a command and its start.

const manyKeys = Object.fromEntries(
  Array.from({ length: 600 }, (_, at) => [`${at}/.env`, ''] as const),
);

/** Creates an agent whose sandbox only records the view of each command. */
function agentIn(root: string) {
  const workspace = createWorkspace({ root });
  let policy = permissionPolicy({ root, freeReading: true });
  const reading = unaskedReading(() => policy);
  const approve = approveInSandbox(
    () => policy,
    (call) => approveByPolicy(policy, workspace)(call),
    reading,
  );
  const views: SandboxRequest['view'][] = [];
  const envs: SandboxRequest['env'][] = [];
  const sandbox: Sandbox = {
    ...{ name: 'bubblewrap', profile: 'workspace', network: false, close: () => {} },
    settled: async () => {},
    isChanging: () => false,
    prepare: async ({ command: [program = '', ...args], env, view }) => {
      views.push(view);
      envs.push(env);
      const { signal: blocked } = new AbortController();
      const finish = async () => [];
      return { program, args, env, fds: [], endsTogether: false, blocked, finish };
    },
  };
  const env = { allow: ['PASSED_ON'], set: { SET_HERE: 'of the user' } };
  const tool = bashTool({ workspace, sandbox, reading, env });
  return {
    ...{ views, envs },
    addRule: (rule: PermissionRule) => {
      policy = policy.remember(rule);
    },
    async decide(command: string, id: string) {
      const call = { kind: 'tool_call', toolCallId: toolCallId(id), name: 'bash', arguments: '' };
      const pending = { name: 'bash', call, tool, input: { command }, summary: '' } as const;
      const ruling = await approve(pending as Parameters<typeof approve>[0], testPlace);
      return typeof ruling === 'string' ? ruling : ruling.decision;
    },
    run: (command: string, id: string) =>
      runTool(tool, { command }, { toolCallId: toolCallId(id) }),
  };
}

const line = 'tail -n 1 *.txt';

test('attack 1: a command that was allowed as reading runs with more rights in a changed folder', async () => {
  const root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a' });
  const agent = agentIn(root);
  expect(await agent.decide(line, 'x')).toBe('allow');
  writeTree(root, manyKeys);
  expect(await agent.run(line, 'x')).toMatchObject({
    isError: true,
    text: expect.stringContaining('did not run'),
  });
  expect(agent.views).toEqual([]);
});

test('attack 1: a rule that asks is added after a command was allowed as reading', async () => {
  const root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a' });
  const agent = agentIn(root);
  expect(await agent.decide(line, 'x')).toBe('allow');
  agent.addRule({ tool: 'bash', command: 'tail', decision: 'ask' });
  expect(await agent.run(line, 'x')).toMatchObject({ isError: true });
  expect(agent.views).toEqual([]);
});

test('attack 1: another call with the same line is asked about before the first one runs', async () => {
  const root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a' });
  const agent = agentIn(root);
  expect(await agent.decide(line, 'x')).toBe('allow');
  writeTree(root, manyKeys);
  expect(await agent.decide(line, 'y')).toBe('ask');
  expect(await agent.run(line, 'x')).toMatchObject({ isError: true });
  expect(agent.views).toEqual([]);
});

test('a command runs as approved by a person or by a rule in a folder that is too large', async () => {
  const root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a', ...manyKeys });
  const agent = agentIn(root);
  expect(await agent.decide(line, 'x')).toBe('ask');
  expect(await agent.run(line, 'x')).toMatchObject({ isError: false });
  agent.addRule({ tool: 'bash', command: 'tail', decision: 'allow' });
  expect(await agent.decide(line, 'y')).toBe('allow');
  expect(await agent.run(line, 'y')).toMatchObject({ isError: false });
  expect(agent.views).toEqual(['workspace', 'workspace']);
});

test('a command that is still confined runs in the closed view', async () => {
  const root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a' });
  const agent = agentIn(root);
  expect(await agent.decide(line, 'x')).toBe('allow');
  expect(await agent.run(line, 'x')).toMatchObject({ isError: false });
  expect(agent.views).toEqual(['closed']);
});

test('attack: a command that nobody approved gets the variables that the user passes on', async () => {
  vi.stubEnv('PASSED_ON', 'of the user');
  onTestFinished(() => void vi.unstubAllEnvs());
  const agent = agentIn(temporaryFolder());
  // `jq -n env` prints all variables, in a form that no mask recognizes.
  expect(await agent.decide('jq -n env', 'a')).toBe('allow');
  await agent.run('jq -n env', 'a');
  agent.addRule({ tool: 'bash', command: 'touch a', exact: true, decision: 'allow' });
  expect(await agent.decide('touch a', 'b')).toBe('allow');
  await agent.run('touch a', 'b');
  const [unasked, approved] = agent.envs;
  expect(agent.views).toEqual(['closed', 'workspace']);
  expect(Object.values(unasked ?? {})).not.toContain('of the user');
  expect(approved).toMatchObject({ PASSED_ON: 'of the user', SET_HERE: 'of the user' });
});
