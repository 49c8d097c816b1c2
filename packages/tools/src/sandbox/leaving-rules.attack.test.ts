import { execFileSync } from 'node:child_process';
import { toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { testPlace } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveInSandbox } from './approve-in-sandbox.ts';
import { unaskedReading } from './unasked-reading.ts';

// A rule lets one command leave the sandbox. The repository makes this command run programs outside of the
// sandbox.

async function ruling(root: string, rule: string, command: string, field: string) {
  const [tool = '', words = ''] = rule.split(':');
  return rulingWith([{ tool, command: words, decision: 'allow' }], { root, command, field });
}

async function rulingWith(
  rules: readonly PermissionRule[],
  { root, command, field }: Readonly<Record<'root' | 'command' | 'field', string>>,
) {
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root, rules, freeReading: true });
  const byPolicy = approveByPolicy(policy, workspace);
  const reading = unaskedReading(() => policy);
  const approve = approveInSandbox(() => policy, byPolicy, reading);
  const id = toolCallId('c');
  const call = { kind: 'tool_call', toolCallId: id, name: 'bash', arguments: '{}' } as const;
  const input = { command, [field]: true };
  const bash = { name: 'bash', tool: bashTool({ workspace }) };
  const decided = await approve({ ...bash, call, input, summary: '' }, testPlace);
  return typeof decided === 'string' ? { decision: decided, reason: '' } : decided;
}

function repository(setting?: string): string {
  const root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a' });
  execFileSync('git', ['-C', root, 'init', '-q']);
  if (setting !== undefined) execFileSync('git', ['-C', root, 'config', setting, 'touch evil']);
  return root;
}

const calls = [
  ['bash+outside:git status', 'git status', 'outside_sandbox'],
  ['bash+outside:git commit', 'git commit -m x', 'outside_sandbox'],
  ['bash+network:git push', 'git push', 'network'],
] as const;

test.for(calls)(
  'attack 33: the rule %s does not run programs of the repository by `%s`',
  async ([rule, command, field]) => {
    for (const setting of ['filter.x.clean', 'core.fsmonitor', 'core.sshCommand']) {
      const { decision, reason } = await ruling(repository(setting), rule, command, field);
      expect(decision).toBe('ask');
      expect(reason).toMatch(/sandbox.* The repository may make git run other programs/);
    }
  },
);

test.for(calls)(
  'the rule %s allows `%s` in a harmless repository',
  async ([rule, command, field]) => {
    expect(await ruling(repository(), rule, command, field)).toMatchObject({ decision: 'allow' });
  },
);

test.each([
  ['ask', 'touch x', 'network'],
  ['ask', 'touch x', 'outside_sandbox'],
  ['deny', 'env touch x', 'network'],
  ['deny', 'env touch x', 'outside_sandbox'],
  ['deny', 'sh -c "touch x"', 'network'],
  ['deny', 't{ouch,} x', 'network'],
] as const)(
  '18.777: attack: a rule with %s for `touch` is ignored for `%s` with %s',
  async (decision, command, field) => {
    const allowed = ['bash', 'bash+network', 'bash+outside'].map(
      (tool) => ({ tool, decision: 'allow' }) as const,
    );
    const at = { root: repository(), command, field };
    for (const rule of [
      { tool: 'bash', command: 'touch', decision },
      { command: 'touch', decision },
    ] as const)
      expect(await rulingWith([...allowed, rule], at)).toMatchObject({ decision: 'ask' });
    expect(await rulingWith(allowed, at)).toMatchObject({ decision: 'allow' });
  },
);
