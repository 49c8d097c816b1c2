import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { type Part, toolCallId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, expect, test } from 'vitest';
import { lsTool } from '../files/ls-tool.ts';
import { readTool } from '../files/read-tool.ts';
import { writeTool } from '../files/write-tool.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveByPolicy } from './approve-by-policy.ts';
import { permissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { '.env': 'hush', 'src/a': 'a' });
});

type Called = readonly [name: string, input: object];

/** Runs an agent that makes these calls, one per turn. */
function calling(rules: readonly PermissionRule[], ...calls: readonly Called[]) {
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root: workspace.root, rules });
  const script = calls.map(([name, input], index) => ({
    content: {
      parts: [
        {
          kind: 'tool_call' as const,
          toolCallId: toolCallId(`c${index}`),
          name,
          arguments: JSON.stringify(input),
        },
      ],
    },
  }));
  return createAgent({
    provider: scriptedProvider([...script, 'Done.']),
    tools: [readTool(workspace), lsTool(workspace), writeTool(workspace), bashTool({ workspace })],
    approve: approveByPolicy(policy, workspace),
  }).run('Go');
}

async function texts(run: ReturnType<typeof calling>): Promise<readonly string[]> {
  const parts = (await run.result).items.flatMap((item): readonly Part[] => item.parts);
  return parts.flatMap((part) => (part.kind === 'tool_result' ? [part.text] : []));
}

test('allowed calls run, and denied ones do not, even through links', async () => {
  symlinkSync('.env', join(root, 'link'));
  symlinkSync('..', join(root, 'src/up'));
  const paths = ['src/a', '.env', 'link', 'src/up/.env', 'nothing'];
  const calls = paths.map((path): Called => ['read', { path }]);
  const run = calling(
    [
      { path: '.env', decision: 'deny' },
      { tool: 'read', decision: 'allow' },
    ],
    ...calls,
  );
  const told = await texts(run);
  const denied = expect.stringMatching(/^It was not allowed: .*\.env is denied/);
  expect(told).toEqual(['1\ta', denied, denied, denied, expect.stringContaining('does not exist')]);
  expect(told.join()).not.toContain('hush');
});

test('a standing approval covers only the same command or path', async () => {
  const calls: readonly Called[] = [
    ['bash', { command: 'echo 1 > a' }],
    ['bash', { command: 'echo 1 > a' }],
    ['bash', { command: 'echo 2 > a' }],
    ['write', { path: 'b', content: 'x' }],
    ['write', { path: './b', content: 'y' }],
    ['write', { path: 'c', content: 'x' }],
  ];
  const run = calling([], ...calls);
  const asked: string[] = [];
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked.push(event.toolCallId);
    await run.approve(event.toolCallId, { until: 'session' });
  }
  expect(asked).toEqual(['c0', 'c2', 'c3', 'c5']);
});
