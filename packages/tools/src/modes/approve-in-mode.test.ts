import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ApprovalDecision, CheckedToolCall } from '@millrace/agent';
import { type JsonObject, toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { markAsRemote } from '../permissions/tool-kinds.ts';
import { approveInSandbox } from '../sandbox/approve-in-sandbox.ts';
import { unaskedReading } from '../sandbox/unasked-reading.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { testPlace } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveInMode, type PermissionMode } from './approve-in-mode.ts';

interface Setting {
  readonly mode: PermissionMode;
  readonly rules?: readonly PermissionRule[];
  readonly hasSandbox?: boolean;
}

function deciding({ mode, rules = [], hasSandbox = true }: Setting) {
  const root = temporaryFolder();
  writeTree(root, { 'src/a.ts': '', '.env': 'KEY=1', '.git/config': '' });
  symlinkSync('../.env', join(root, 'src/link'));
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({
    ...{ root, rules, freeReading: true, searchesSkipDenied: true },
    kinds: { task: 'free' },
  });
  const reading = hasSandbox ? unaskedReading(() => policy) : undefined;
  const byPolicy = approveByPolicy(policy, workspace, { lasting: 'wide' });
  const state = { mode };
  const approve = approveInMode({
    ...{ mode: () => state.mode, policy: () => policy, workspace, reading },
    approve: reading ? approveInSandbox(() => policy, byPolicy, reading) : byPolicy,
  });
  const decide = async (name: string, input: JsonObject, isRemote = false) => {
    const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name } as const;
    const call = { ...part, arguments: JSON.stringify(input) };
    const tool = isRemote ? markAsRemote({ name }) : { name };
    const ruling: ApprovalDecision = await approve(
      {
        ...{ name, call, tool, input, summary: name },
      } as unknown as CheckedToolCall,
      testPlace,
    );
    return typeof ruling === 'string' ? { decision: ruling, reason: '' } : ruling;
  };
  return {
    state,
    decide,
    on: async (name: string, input: JsonObject, isRemote?: boolean) =>
      (await decide(name, input, isRemote)).decision,
    bash: async (command: string, more: JsonObject = {}) =>
      (await decide('bash', { command, ...more })).decision,
  };
}

describe('plan', () => {
  const allowed: readonly PermissionRule[] = [
    { tool: 'bash', command: 'npm test', decision: 'allow' },
    { tool: 'write', decision: 'allow' },
    { tool: 'github_search', decision: 'allow' },
  ];

  test('refuses changes, programs and tools of servers, even if a rule allows them', async () => {
    const { on, bash, decide } = deciding({ mode: 'plan', rules: allowed });
    expect(await on('write', { path: 'src/a.ts' })).toBe('deny');
    expect(await on('edit', { path: 'src/a.ts' })).toBe('deny');
    expect(await bash('npm test')).toBe('deny');
    expect(await bash('ls', { network: true })).toBe('deny');
    expect(await bash('ls', { outside_sandbox: true })).toBe('deny');
    expect(await on('github_search', {}, true)).toBe('deny');
    expect(await decide('edit', { path: 'src/a.ts' })).toMatchObject({
      reason: expect.stringMatching(/^The session is in plan mode/),
    });
  });

  test('reads as in the mode ask', async () => {
    const { on, bash } = deciding({ mode: 'plan' });
    expect(await on('read', { path: 'src/a.ts' })).toBe('allow');
    expect(await on('grep', { pattern: 'x' })).toBe('allow');
    expect(await on('read', { path: '.env' })).toBe('ask');
    expect(await on('task', {})).toBe('allow');
    expect(await bash('ls src')).toBe('allow');
    expect(await bash('tac src/a.ts')).toBe('allow');
  });

  test('without a sandbox, only known commands read', async () => {
    const { bash } = deciding({ mode: 'plan', hasSandbox: false });
    expect(await bash('ls src')).toBe('allow');
    expect(await bash('tac src/a.ts')).toBe('deny');
  });
});

describe('accept-edits', () => {
  test('changes files in the folder, and asks about commands', async () => {
    const { decide, on, bash } = deciding({ mode: 'accept-edits' });
    const ruling = await decide('edit', { path: 'src/a.ts' });
    expect(ruling).toMatchObject({
      decision: 'allow',
      judged: expect.stringMatching(/src\/a\.ts$/),
    });
    expect(await on('write', { path: 'new.ts' })).toBe('allow');
    expect(await bash('npm test')).toBe('ask');
    expect(await bash('ls src')).toBe('allow');
    expect(await on('github_search', {}, true)).toBe('ask');
  });

  test('asks about secrets, protected files, other folders, and files that a rule asks about', async () => {
    const ask = { tool: 'write', path: 'src/**', decision: 'ask' } as const;
    const { on } = deciding({ mode: 'accept-edits', rules: [ask] });
    const paths = ['.env', '.git/config', '.vscode/tasks.json', '../x', '/etc/x', 'src/link'];
    for (const path of paths) expect([path, await on('write', { path })]).toEqual([path, 'ask']);
    expect(await on('write', { path: 'src/a.ts' })).toBe('ask');
    expect(await on('edit', { path: 'src/a.ts' })).toBe('ask');
    expect(await on('edit', { path: 'other/a.ts' })).toBe('allow');
    const deny = { path: 'src/**', decision: 'deny' } as const;
    const strict = deciding({ mode: 'accept-edits', rules: [deny] });
    expect(await strict.on('write', { path: 'src/a.ts' })).toBe('deny');
  });
});

describe('auto', () => {
  test('runs commands in the sandbox, and changes files', async () => {
    const { on, bash } = deciding({ mode: 'auto' });
    expect(await bash('npm test')).toBe('allow');
    expect(await bash('for f in *; do wc -l "$f"; done > sizes')).toBe('allow');
    expect(await on('edit', { path: 'src/a.ts' })).toBe('allow');
    expect(await on('github_search', {}, true)).toBe('ask');
  });

  test('asks about commands that leave the sandbox, name a secret, or that a rule asks about', async () => {
    const ask = { tool: 'bash', command: 'git push', decision: 'ask' } as const;
    const { bash } = deciding({ mode: 'auto', rules: [ask] });
    expect(await bash('npm test', { network: true })).toBe('ask');
    expect(await bash('npm test', { outside_sandbox: true })).toBe('ask');
    expect(await bash('python3 -c "open(\'.env\')"')).toBe('ask');
    expect(await bash('node x.js --file=.env')).toBe('ask');
    expect(await bash('node x.js <.env')).toBe('ask');
    expect(await bash('git push')).toBe('ask');
    expect(await bash('node x.js && git push')).toBe('ask');
    const deny = { tool: 'bash', command: 'rm', decision: 'deny' } as const;
    expect(await deciding({ mode: 'auto', rules: [deny] }).bash('rm -r src')).toBe('deny');
  });

  test('runs no command without a sandbox', async () => {
    const { on, bash } = deciding({ mode: 'auto', hasSandbox: false });
    expect(await bash('npm test')).toBe('ask');
    expect(await on('edit', { path: 'src/a.ts' })).toBe('allow');
  });
});

test('a new mode applies to the next call', async () => {
  const { state, on } = deciding({ mode: 'ask' });
  const edit = () => on('edit', { path: 'src/a.ts' });
  expect(await edit()).toBe('ask');
  state.mode = 'accept-edits';
  expect(await edit()).toBe('allow');
  state.mode = 'plan';
  expect(await edit()).toBe('deny');
});
