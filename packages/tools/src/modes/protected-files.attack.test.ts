import { type JsonObject, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { approveInSandbox } from '../sandbox/approve-in-sandbox.ts';
import { unaskedReading } from '../sandbox/unasked-reading.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveInMode } from './approve-in-mode.ts';

// A hostile model works in the mode `auto`, in which commands in the sandbox need no approval.

async function bash(command: string): Promise<string> {
  const root = temporaryFolder();
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root, freeReading: true });
  const reading = unaskedReading(() => policy);
  const byPolicy = approveByPolicy(policy, workspace);
  const approve = approveInMode({
    ...{ mode: () => 'auto', policy: () => policy, workspace, reading },
    approve: approveInSandbox(() => policy, byPolicy, reading),
  });
  const input: JsonObject = { command };
  const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'bash' } as const;
  const call = { ...part, arguments: JSON.stringify(input) };
  const pending = { name: 'bash', call, tool: { name: 'bash' }, input, summary: 'bash' };
  const ruling = await approve(pending as unknown as Parameters<typeof approve>[0]);
  return typeof ruling === 'string' ? ruling : ruling.decision;
}

test.each([
  'mkdir -p .vscode; echo evil > .vscode/tasks.json',
  'echo evil >> .npmrc',
  "sh -c 'echo evil > .envrc'",
  'cp a .husky/pre-commit',
  'tee .github/workflows/a.yml < a',
  'git config --file=.gitmodules a.b c',
  'sed -i s/a/b/ CLAUDE.md',
  "python3 -c \"open('.mcp.json', 'w')\"",
  'ln -s a .idea',
])('18.123: attack: the mode auto asks about %j, which names a protected file', async (command) => {
  expect(await bash(command)).toBe('ask');
});

test.each(['npm test', 'head -5 a > b', 'git reset HEAD~1', 'mkdir -p src/tools', 'make build'])(
  '18.123: the mode auto does not ask about %j',
  async (command) => {
    expect(await bash(command)).toBe('allow');
  },
);
