import { describe, expect, test } from 'vitest';
import { approveInMode } from '../modes/approve-in-mode.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveByPolicy } from './approve-by-policy.ts';
import { permissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';

// A rule denies one use of a path. The model uses another tool for the same purpose.

function policyWith(...rules: readonly PermissionRule[]) {
  const root = temporaryFolder();
  writeTree(root, { 'locked/a.txt': 'hush', 'src/a.txt': 'text' });
  return permissionPolicy({ root, rules, freeReading: true, searchesSkipDenied: true });
}

describe('a rule that denies write:locked/**', () => {
  const rule = { tool: 'write', path: 'locked/**', decision: 'deny' } as const;

  test.each(['write', 'edit', 'apply_patch'])('18.701: attack: does not cover %s', (tool) => {
    for (const named of ['write', 'edit']) {
      const { decide } = policyWith({ decision: 'allow' }, { ...rule, tool: named });
      expect(decide({ tool, input: { path: 'locked/a.txt' } }).decision).toBe('deny');
      expect(decide({ tool, input: { path: 'src/a.txt' } }).decision).toBe('allow');
    }
  });

  test('18.702: attack: lets a command that names the path change it', () => {
    const { decide } = policyWith({ decision: 'allow' }, rule);
    const bash = (command: string) => decide({ tool: 'bash', input: { command } }).decision;
    for (const command of ['rm locked/a.txt', 'touch locked/b', 'echo x > locked/a.txt'])
      expect(bash(command), command).toBe('ask');
    for (const command of ['cat locked/a.txt', 'ls locked', 'rm src/a.txt'])
      expect(bash(command), command).toBe('allow');
  });

  test('18.702: does not deny reading', () => {
    const policy = policyWith(rule);
    expect(policy.decide({ tool: 'read', input: { path: 'locked/a.txt' } }).decision).toBe('allow');
    expect(policy.deniedPaths('grep')).toEqual([]);
    expect(policy.deniedPaths('bash')).toEqual([]);
  });
});

describe('a rule that denies read:locked/**', () => {
  const rule = { tool: 'read', path: 'locked/**', decision: 'deny' } as const;

  test('18.703: attack: lets grep and glob show the files', () => {
    const policy = policyWith(rule);
    for (const tool of ['grep', 'glob']) {
      expect(policy.deniedPaths(tool)).toEqual(['locked/**']);
      expect(policy.decide({ tool, input: { pattern: '.', path: 'locked' } }).decision).toBe(
        'deny',
      );
    }
  });

  test('18.704: attack: lets a command that names the path print it', () => {
    const policy = policyWith({ tool: 'bash', decision: 'allow' }, rule);
    const bash = (command: string) => policy.decide({ tool: 'bash', input: { command } }).decision;
    expect(bash('cat locked/a.txt')).toBe('ask');
    expect(bash('npm test')).toBe('allow');
    // Programs can use the file. The sandbox hides only what a rule denies for all tools or for commands.
    expect(policy.deniedPaths('bash')).toEqual([]);
  });
});

test('18.705: attack: a rule that asks about write is avoided with edit in the mode accept-edits', async () => {
  const policy = policyWith({ tool: 'write', path: 'locked/**', decision: 'ask' });
  const workspace = createWorkspace({ root: policy.root });
  const approve = approveInMode({
    ...{ mode: () => 'accept-edits', policy: () => policy, workspace },
    approve: approveByPolicy(policy, workspace),
  });
  const edit = async (path: string) => {
    const call = { kind: 'tool_call', toolCallId: 'c', name: 'edit', arguments: '' };
    const pending = { name: 'edit', call, tool: { name: 'edit' }, input: { path }, summary: '' };
    const at = { session: 's', turn: 1 } as unknown as Parameters<typeof approve>[1];
    const ruling = await approve(pending as unknown as Parameters<typeof approve>[0], at);
    return typeof ruling === 'string' ? ruling : ruling.decision;
  };
  expect(await edit('locked/a.txt')).toBe('ask');
  expect(await edit('src/a.txt')).toBe('allow');
});

test('a rule for grep, or for a tool without a path, covers only that tool', () => {
  const ofGrep = policyWith({ tool: 'grep', path: 'locked/**', decision: 'deny' });
  expect(ofGrep.decide({ tool: 'read', input: { path: 'locked/a.txt' } }).decision).toBe('allow');
  const ofWrite = policyWith({ decision: 'allow' }, { tool: 'write', decision: 'deny' });
  expect(ofWrite.decide({ tool: 'edit', input: { path: 'src/a.txt' } }).decision).toBe('allow');
});
