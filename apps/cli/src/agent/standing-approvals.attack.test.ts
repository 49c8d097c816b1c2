import { type JsonObject, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { bashTool, createWorkspace } from '@millrace/tools';
import { expect, test } from 'vitest';
import { folderWith, testAgent } from '../testing/test-agent.ts';
import { createSessionPolicy } from './session-policy.ts';

// The user allowed a command for the session. The session then continues in a folder that belongs
// to a different person.

const session = sessionId('s');

/** Runs a command in a session. If the command needs approval, allows it for the session. */
async function asksFor(log: Log, cwd: string, call: readonly [name: string, input: JsonObject]) {
  const id = toolCallId(crypto.randomUUID());
  const parts = [toolCallPart(id, ...call)];
  const provider = scriptedProvider([{ content: { parts } }, 'Done.']);
  const { agent } = await testAgent({ provider, log, cwd });
  const run = agent.run('Go', { session });
  let asked = false;
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked = true;
    await run.approve(event.toolCallId, { until: 'session' });
  }
  await run.result;
  return asked;
}

test.for<readonly [string, JsonObject]>([
  ['bash', { command: 'touch a' }],
  ['write', { path: 'a.txt', content: 'x' }],
])('attack: an approval of %s for the session does not cover another folder', async (call) => {
  const log = memoryLog();
  const [mine, hostile] = [folderWith(), folderWith()];
  expect(await asksFor(log, mine, call)).toBe(true);
  expect(await asksFor(log, mine, call)).toBe(false);
  expect(await asksFor(log, hostile, call)).toBe(true);
});

async function ruleFor(root: string, isConfined: boolean) {
  const workspace = createWorkspace({ root });
  const nothing = async () => {};
  const store = { saveRule: nothing, deleteRule: nothing };
  const policy = createSessionPolicy({ workspace, rules: [], isConfined, ...store });
  const input = { command: 'npm test' };
  const call = toolCallPart(toolCallId('c'), 'bash', input);
  const tool = bashTool({ workspace });
  const pending = { name: 'bash', call, input, tool, summary: 'bash' };
  const ruling = await policy.approve(pending, { session: sessionId('s'), turn: 1 });
  return typeof ruling === 'string' ? undefined : ruling.rule;
}

test('attack: an approval in the sandbox does not cover the command outside of it', async () => {
  const root = folderWith();
  const [confined, free] = [await ruleFor(root, true), await ruleFor(root, false)];
  expect(confined).toBeDefined();
  expect(free).toBeDefined();
  expect(confined).not.toBe(free);
  expect(await ruleFor(root, true)).toBe(confined);
  expect(await ruleFor(folderWith(), true)).not.toBe(confined);
});
