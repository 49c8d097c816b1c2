import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { parseStandingRule } from '../permissions/standing-rule.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { testPlace } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveInSandbox } from './approve-in-sandbox.ts';
import { unaskedReading } from './unasked-reading.ts';

/**
 * Creates a policy like that of the terminal agent, with a sandbox. Returns the decision and how the command
 * is confined.
 */
function agentIn(root: string, rules: readonly PermissionRule[] = []) {
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root, rules, freeReading: true, searchesSkipDenied: true });
  const reading = unaskedReading(() => policy);
  const approve = approveInSandbox(() => policy, approveByPolicy(policy, workspace), reading);
  const tool = bashTool({ workspace });
  return {
    hidden: (command: string) => reading.hiddenPaths({ tool: 'bash', input: { command } }),
    async decide(input: Readonly<Record<string, unknown>>) {
      const id = toolCallId('c');
      const call = { kind: 'tool_call', toolCallId: id, name: 'bash', arguments: '{}' } as const;
      const ruling = await approve({ name: tool.name, call, tool, input, summary: '' }, testPlace);
      const { decision, ...rest } = typeof ruling === 'string' ? { decision: ruling } : ruling;
      const isClosed = (await reading.hiddenPaths({ tool: 'bash', input })) !== undefined;
      const place = input['outside_sandbox'] ? 'outside' : isClosed ? 'closed' : 'workspace';
      return { decision, place, ...rest };
    },
  };
}

const files = { 'src/a.ts': 'a', '.env': 'KEY=1', 'package.json': '{}', 'secrets/k': 'k' };

function workspace(): string {
  const root = temporaryFolder();
  writeTree(root, files);
  spawnSync('git', ['init', '--quiet', '--initial-branch=main', root]);
  return root;
}

describe('the table of the README', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  const [, table = ''] =
    /\| commands \| question \|[^\n]*\n\|[-|]*\n((?:\|.*\n)+)/.exec(readme) ?? [];
  const rows = table
    .trimEnd()
    .split('\n')
    .map((row) => row.replaceAll('\\|', '\u0000').split('|').slice(1, -1))
    .flatMap(([commands = '', question = '', place = '']) =>
      [...commands.matchAll(/`([^`]*)`/g)].map(([, code = '']) => ({
        code: code.replaceAll('\u0000', '|'),
        question: question.trim(),
        place: place.trim(),
      })),
    );

  test('has rows', () => expect(rows.length).toBeGreaterThan(10));

  test.for(rows)('$code: $question, $place', async ({ code, question, place }) => {
    const [, command = '', field] =
      /^(.*?)(?: with (network|change_git|outside_sandbox): true)?$/.exec(code) ?? [];
    const input = { command, ...(field !== undefined && { [field]: true }) };
    const decided = await agentIn(workspace()).decide(input);
    expect(decided.decision).toBe(question === 'no' ? 'allow' : 'ask');
    expect(decided.place).toBe(place);
  });
});

test('what the policy may not read is hidden, and the repository too', async () => {
  const root = workspace();
  writeTree(root, { 'node_modules/a/.env': '' });
  const deny = { path: 'secrets/**', decision: 'deny' } as const;
  const hidden = await agentIn(root, [deny]).hidden('grep -r KEY .');
  expect(hidden?.toSorted()).toEqual(['.env', '.git', 'secrets'].map((name) => join(root, name)));
});

test.for([
  'cat shared',
  'cat sub/shared',
  'cat sha*',
  'cd sub && cat shared',
  'head -n1 here/hosts',
])('a link that leads out of the workspace is asked about: %s', async (command) => {
  const root = workspace();
  writeTree(root, { 'sub/a.txt': 'a' });
  for (const name of ['shared', 'sub/shared']) symlinkSync('/etc/hosts', join(root, name));
  symlinkSync('/etc', join(root, 'here'));
  symlinkSync('sub/a.txt', join(root, 'inside'));
  expect(await agentIn(root).decide({ command })).toMatchObject({ decision: 'ask' });
  const other = await agentIn(root).decide({ command: 'cat inside && grep -rn a sub' });
  expect(other).toMatchObject({ decision: 'allow', place: 'closed' });
});

describe('18.781: attack: a line follows a link that it does not name', () => {
  function linked(): string {
    const root = workspace();
    writeTree(root, { 'd1/a': '', 'd2/x': '1', 'sub/a.txt': 'a', 'a.txt': 'a', list: 'd1/x' });
    symlinkSync('/etc/passwd', join(root, 'd1/x'));
    symlinkSync('/etc/passwd', join(root, 'out'));
    symlinkSync('/etc/passwd', join(root, 'sub/o2'));
    return root;
  }

  test.for([
    ...[
      'diff d1 d2',
      'diff -r d1 d2',
      'diff -0r d1 d2',
      'diff d1 a.txt',
      'cd sub && diff a.txt a.txt',
    ],
    ...[
      'diff --from-file=d1 d2',
      'grep --der root: d1',
      'grep --dere root: d1',
      'grep -5R root d1',
    ],
    ...['hexdump -fout a.txt', 'grep -fout a.txt', 'du -Xout', 'strings @o2', 'strings @list'],
    ...['cd -P sub && strings @o2', 'cd -- sub && cat a.txt', 'cd && cat a.txt', 'ls --der d1'],
    ...['du --de d1', 'wc --files0-from=list', 'md5sum -c list', 'jq -n \'include "x"; .\''],
    ...['jq -Ld1 . a.txt', 'tree -5l', 'grep --file=sub/o2 a.txt', 'cut --files=a.txt:out a.txt'],
  ])('%s', async (command) => {
    expect(await agentIn(linked()).decide({ command })).toMatchObject({ decision: 'ask' });
  });

  test.for([
    ...[
      'grep -rn root: d1',
      'diff a.txt sub/a.txt',
      'ls -R',
      'ls -d --directory d1',
      'cd sub && ls',
    ],
    ...['strings a.txt', 'jq . a.txt', 'grep -c output a.txt', 'nl a.txt'],
  ])('%s follows none', async (command) => {
    expect(await agentIn(linked()).decide({ command })).toMatchObject({ decision: 'allow' });
  });

  test('the closed view hides the system files about which a rule asks', async () => {
    const root = workspace();
    const path = '/usr/share';
    for (const rule of [{ path }, { path: `${path}/**` }, { tool: 'read', path }])
      for (const decision of ['ask', 'deny'] as const)
        expect(await agentIn(root, [{ ...rule, decision }]).hidden('nl package.json')).toContain(
          path,
        );
    for (const place of ['/usr/**', '/usr/bin/**', '/usr/share/*/x'])
      expect(
        await agentIn(root, [{ path: place, decision: 'ask' }]).hidden('nl package.json'),
      ).toBeUndefined();
  });
});

test('a workspace with too many files is asked about', async () => {
  const root = temporaryFolder();
  const many = Array.from({ length: 600 }, (_, index) => [`${index}/.env`, ''] as const);
  writeTree(root, Object.fromEntries(many));
  expect(await agentIn(root).decide({ command: 'cat */x' })).toMatchObject({ decision: 'ask' });
});

test.for([
  [{ tool: 'bash', command: 'cat', decision: 'ask' }, 'ask', 'workspace'],
  [{ tool: 'bash', decision: 'ask' }, 'ask', 'workspace'],
  [{ tool: 'bash', command: 'cat', decision: 'deny' }, 'deny', 'workspace'],
  [{ tool: 'bash', decision: 'deny' }, 'deny', 'workspace'],
  [{ tool: 'bash', command: 'cat', decision: 'allow' }, 'allow', 'workspace'],
  [{ decision: 'allow' }, 'allow', 'workspace'],
] as const)('a rule decides before the sandbox does: %j', async ([rule, decision, place]) => {
  const decided = await agentIn(workspace(), [rule]).decide({ command: 'cat */a.ts' });
  expect(decided).toMatchObject({ decision, place });
});

describe('a command that leaves the sandbox', () => {
  const input = { command: 'npm install', network: true };
  const outside = { command: 'npm install', outside_sandbox: true };

  test.for([
    { decision: 'allow' },
    { tool: '*', decision: 'allow' },
    { tool: 'bash', decision: 'allow' },
    { tool: 'bash', command: 'npm install', decision: 'allow' },
    { tool: 'bash', command: 'npm install', exact: true, decision: 'allow' },
    { tool: 'bash+outside', command: 'npm', exact: true, decision: 'allow' },
  ] as const)('is asked about in spite of the rule %j', async (rule) => {
    const agent = agentIn(workspace(), [rule]);
    expect(await agent.decide(input)).toMatchObject({ decision: 'ask' });
    expect(await agent.decide(outside)).toMatchObject({ decision: 'ask' });
    expect(await agent.decide({ ...input, ...outside })).toMatchObject({ decision: 'ask' });
  });

  test('is allowed by a rule that names this permission', async () => {
    const rule = { tool: 'bash+network', command: 'npm install', decision: 'allow' } as const;
    const agent = agentIn(workspace(), [rule]);
    expect(await agent.decide(input)).toMatchObject({ decision: 'allow' });
    expect(await agent.decide(outside)).toMatchObject({ decision: 'ask' });
    const chained = { command: 'npm install; curl x', network: true };
    expect(await agent.decide(chained)).toMatchObject({ decision: 'ask' });
  });

  test('says so in the question, and an answer that lasts covers exactly this', async () => {
    const asked = await agentIn(workspace()).decide(outside);
    expect(asked).toMatchObject({ reason: expect.stringContaining('outside the sandbox') });
    const { rule } = parseStandingRule('rule' in asked ? String(asked.rule) : '') ?? {};
    if (rule === undefined) throw new Error('It has no rule');
    expect(rule).toEqual({
      ...{ tool: 'bash+outside', command: 'npm install', exact: true, decision: 'allow' },
    });
    const remembered = agentIn(workspace(), [rule]);
    expect(await remembered.decide(outside)).toMatchObject({ decision: 'allow' });
    expect(await remembered.decide({ ...outside, command: 'npm install x' })).toMatchObject({
      decision: 'ask',
    });
    expect(await remembered.decide(input)).toMatchObject({ decision: 'ask' });
  });

  test('is denied if a rule denies the command', async () => {
    const rule = { tool: 'bash', command: 'npm', decision: 'deny' } as const;
    expect(await agentIn(workspace(), [rule]).decide(outside)).toMatchObject({ decision: 'deny' });
  });
});
