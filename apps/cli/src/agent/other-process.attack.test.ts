import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId, toolCallId } from '@millrace/core';
import { bashTool, createWorkspace, writeTool } from '@millrace/tools';
import { expect, onTestFinished, test } from 'vitest';
import { createSessionPolicy } from './session-policy.ts';

// A process asks about a call, and a different process continues the session: in a different folder, or
// without a sandbox. The agent compares what both processes judged, and refuses the call if it differs.

function folder(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'process-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, 'x.txt'), 'important');
  return root;
}

async function judgedIn(root: string, name: 'bash' | 'write', isConfined: boolean) {
  const workspace = createWorkspace({ root });
  const nothing = async () => {};
  const options = { workspace, rules: [], isConfined, saveRule: nothing, deleteRule: nothing };
  const policy = createSessionPolicy(options);
  const tool = name === 'bash' ? bashTool({ workspace }) : writeTool(workspace);
  const input = name === 'bash' ? { command: 'touch a' } : { path: 'x.txt', content: 'hi' };
  const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name } as const;
  const call = { ...part, arguments: JSON.stringify(input) };
  const ruling = await policy.approve(
    { name, call, tool, input, summary: name },
    { session: sessionId('s'), turn: 1 },
  );
  if (typeof ruling === 'string') throw new Error('There is no reason');
  expect(ruling.decision).toBe('ask');
  return ruling.judged;
}

test.for(['bash', 'write'] as const)(
  'attack 48: a question about %s is different in a different folder',
  async (name) => {
    const [one, other] = [folder(), folder()];
    const judged = await judgedIn(one, name, false);
    expect(judged).toContain(one);
    expect(await judgedIn(one, name, false)).toBe(judged);
    expect(await judgedIn(other, name, false)).not.toBe(judged);
  },
);

test('attack 48: a question about a command is different without a sandbox', async () => {
  const root = folder();
  expect(await judgedIn(root, 'bash', true)).not.toBe(await judgedIn(root, 'bash', false));
});
