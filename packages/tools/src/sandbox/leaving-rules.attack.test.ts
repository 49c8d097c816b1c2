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
import { sandboxRuleNames } from './more-permissions.ts';
import { unaskedReading } from './unasked-reading.ts';

// A rule lets one command leave the sandbox. The repository makes this command run programs outside of the
// sandbox.

async function ruling(root: string, rule: string, command: string, field: string) {
  const [tool = '', words = ''] = rule.split(':');
  return rulingWith([{ tool, command: words, decision: 'allow' }], { root, command, field });
}

interface RuledCall extends Readonly<Record<'root' | 'command', string>> {
  readonly field?: string;
  readonly fields?: Readonly<Record<string, true>>;
}

async function rulingWith(
  rules: readonly PermissionRule[],
  { root, command, field, fields = { [field ?? '']: true } }: RuledCall,
) {
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root, rules, freeReading: true });
  const byPolicy = approveByPolicy(policy, workspace);
  const reading = unaskedReading(() => policy);
  const approve = approveInSandbox(() => policy, byPolicy, reading);
  const id = toolCallId('c');
  const call = { kind: 'tool_call', toolCallId: id, name: 'bash', arguments: '{}' } as const;
  const input = { command, ...fields };
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
  ['bash+git:git commit', 'git commit -m x', 'change_git'],
  ['bash:git commit', 'git commit -m x', 'background'],
] as const;

test.for(calls)(
  'attack 33: the rule %s does not run programs of the repository by `%s`',
  async ([rule, command, field]) => {
    for (const setting of ['filter.x.clean', 'core.fsmonitor', 'core.sshCommand']) {
      const { decision, reason } = await ruling(repository(setting), rule, command, field);
      expect(decision).toBe('ask');
      expect(reason).toMatch(
        /(?:sandbox|repository).* The repository may make git run other programs/,
      );
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

test.each([
  ['bash+network', { network: true, change_git: true }],
  ['bash+git', { network: true, change_git: true }],
  ['bash+network+git', { network: true, change_git: true }],
  ['bash+network', { outside_sandbox: true }],
  ['bash+git', { outside_sandbox: true }],
  ['bash+*', { change_git: true }],
] as const)(
  '18.1441: attack: a rule that denies %s is ignored for a call with %j',
  async (tool, fields) => {
    const allowed = ['bash', ...Object.values(sandboxRuleNames)].map((name) => allow(name));
    const root = repository();
    const at = { root, command: 'touch x', fields };
    expect(await rulingWith(allowed, at)).toMatchObject({ decision: 'allow' });
    const rules = [...allowed, { tool, command: 'touch', decision: 'deny' } as const];
    expect(await rulingWith(rules, at)).toMatchObject({ decision: 'deny' });
    const all = [...allowed, { tool, decision: 'deny' } as const];
    expect(await rulingWith(all, at)).toMatchObject({ decision: 'deny' });
  },
);

const allow = (tool: string, command?: string, exact?: boolean) =>
  ({ tool, command, exact, decision: 'allow' }) as const;

test.each([
  ['git commit -m x', 'background', [allow('bash')]],
  ['npm test', 'change_git', [allow('bash'), allow('bash', 'npm test')]],
  ['npm test', 'change_git', [allow('bash', 'npm test', true)]],
  ['npm test && git commit -m x', 'background', [allow('bash', 'npm'), allow('bash', 'git')]],
  ['git commit -m x; ./evil.sh', 'background', [allow('bash'), allow('bash', 'git commit')]],
  ['git push', 'network', [allow('bash+network'), allow('bash+git'), allow('bash', 'git push')]],
  ['git push', 'network', [{ decision: 'allow' }, allow('bash+network')]],
  ['git commit -m x', 'outside_sandbox', [allow('bash+git'), allow('bash', 'git commit')]],
] as const)(
  '18.1381: attack: `%s` with %s may change the repository with rules for other commands',
  async (command, field, rules) => {
    const at = { root: repository(), command, field };
    expect(await rulingWith(rules, at)).toMatchObject({ decision: 'ask' });
  },
);

test.each([
  ['git commit -m x', 'background', [allow('bash', 'git commit')]],
  ['git add a.txt && git commit -m x', 'background', [allow('bash', 'git')]],
  ['cd . && git stash', 'background', [allow('bash', 'cd . && git stash', true)]],
  ['npm test', 'change_git', [allow('bash+git', 'npm test', true)]],
  ['touch x', 'change_git', [allow('bash+git')]],
  ['touch x', 'change_git', [{ decision: 'allow' }]],
  ['git push', 'network', [allow('bash+network', 'git push')]],
  ['git push', 'network', [allow('bash+network+git')]],
  ['git status', 'background', [allow('bash')]],
] as const)(
  '`%s` with %s may change the repository with a rule for it',
  async (command, field, rules) => {
    const at = { root: repository(), command, field };
    expect(await rulingWith(rules, at)).toMatchObject({ decision: 'allow' });
  },
);

test('a standing approval of a git command covers the same commands as without the sandbox', async () => {
  const root = repository();
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root, freeReading: true });
  const reading = unaskedReading(() => policy);
  const ruleOf = async (lasting: 'exact' | 'wide', input: object) => {
    const byPolicy = approveByPolicy(policy, workspace, { lasting });
    const approve = approveInSandbox(() => policy, byPolicy, reading);
    const call = {
      kind: 'tool_call',
      toolCallId: toolCallId('c'),
      name: 'bash',
      arguments: '{}',
    } as const;
    const bash = { name: 'bash', tool: bashTool({ workspace }) };
    const ruling = await approve({ ...bash, call, input, summary: '' }, testPlace);
    const { command, exact } = JSON.parse((ruling as { readonly rule: string }).rule);
    return [command, exact === true];
  };
  const commit = { command: 'git commit -m x' };
  expect(await ruleOf('wide', commit)).toEqual(['git commit', false]);
  expect(await ruleOf('exact', commit)).toEqual(['git commit -m x', true]);
  expect(await ruleOf('wide', { ...commit, network: true })).toEqual(['git commit -m x', true]);
  const program = { command: 'npm test', change_git: true };
  expect(await ruleOf('wide', program)).toEqual(['npm test', true]);
});

test.each([
  ['git commit -m \ua78cx; rm -rf src docs\ua78c', 'change_git', [], '`rm -rf src docs\ua78c`'],
  ['git commit -m x; rm -rf src', 'change_git', [allow('bash', 'git commit')], '`rm -rf src`'],
  ['curl a.example \uff03 b; rm -rf src', 'network', [allow('bash', 'curl')], '`rm -rf src`'],
  ['npm test\u3000# log; rm -rf src', 'outside_sandbox', [allow('bash', 'npm')], '`rm -rf src`'],
  ['npm test \u2018x; rm -rf src\u2019', 'background', [], '`rm -rf src\u2019`'],
] as const)(
  '18.1462: attack: a command looks like a part of a quoted text in `%s` with %s',
  async (command, field, rules, named) => {
    const { decision, reason } = await rulingWith(rules, { root: repository(), command, field });
    expect(decision).toBe('ask');
    expect(reason).toContain(`No rule allows ${named}`);
  },
);

test('a reason names at most 9 commands', async () => {
  const command = Array.from({ length: 30 }, (_, at) => `rm ${at}`).join('; ');
  const { reason } = await rulingWith([], { root: repository(), command, field: 'background' });
  expect(reason?.match(/No rule allows `rm/g)).toHaveLength(9);
  expect(reason).toMatch(/`rm 8`\. No rule allows 21 more commands$/);
});
