import { sessionId, toolCallId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { bashTool, createWorkspace } from '@millrace/tools';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../config/load-config.ts';
import { ruleFromText } from '../config/rule-text.ts';
import { folderWith, testAgent } from '../testing/test-agent.ts';
import type { Unconfined } from './command-sandbox.ts';
import { createSessionPolicy } from './session-policy.ts';

// A hostile repository makes the sandbox fail. The user had allowed commands only because of the
// sandbox.

async function rulingOn(command: string, unconfined: Unconfined, ...allow: readonly string[]) {
  const workspace = createWorkspace({ root: folderWith({ 'a.txt': 'text' }) });
  const nothing = async () => {};
  const rules = allow.map((text) => ruleFromText(text, 'allow'));
  const policy = createSessionPolicy({
    ...{ workspace, rules, saveRule: nothing, deleteRule: nothing },
    ...{ isConfined: false, unconfined },
  });
  const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'bash' } as const;
  const call = { ...part, arguments: JSON.stringify({ command }) };
  const tool = bashTool({ workspace });
  const ruling = await policy.approve(
    {
      ...{ name: 'bash', call, tool },
      ...{ input: { command }, summary: command },
    },
    { session: sessionId('s'), turn: 1 },
  );
  return typeof ruling === 'string' ? { decision: ruling, reason: '' } : ruling;
}

const failed = { problem: 'failed', reason: 'it timed out' } as const;
const missing = { problem: 'missing', reason: 'it is not installed' } as const;

test.for(['bash', 'bash:npm test', 'bash=npm test'])(
  'attack: with a sandbox that cannot run, the rule %s lets no command run unasked',
  async (rule) => {
    const { decision, reason } = await rulingOn('npm test', failed, rule);
    expect(decision).toBe('ask');
    expect(reason).toContain('The sandbox cannot run (it timed out)');
  },
);

test('with a sandbox that cannot run, a rule for commands outside of it counts', async () => {
  expect(await rulingOn('npm test', failed, 'bash+outside=npm test')).toMatchObject({
    decision: 'allow',
  });
});

test.for([failed, missing])('a command that only reads needs no question: %j', async (why) => {
  expect(await rulingOn('cat a.txt', why)).toMatchObject({ decision: 'allow' });
  expect(await rulingOn('cat a.txt', why, 'bash')).toMatchObject({ decision: 'allow' });
});

test('without a sandbox, each question about a command says so', async () => {
  const { decision, reason } = await rulingOn('npm test', missing);
  expect({ decision, reason }).toEqual({
    decision: 'ask',
    reason: 'No rule allows `npm test`. Nothing confines commands here (it is not installed)',
  });
  expect(await rulingOn('npm test', missing, 'bash')).toMatchObject({ decision: 'allow' });
});

test.for([
  ['park', 1],
  ['wait', 0],
] as const)(
  'a run without a chat reports that nothing confines commands: %s',
  async ([approve, count]) => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform') ?? {};
    Object.defineProperty(process, 'platform', { ...platform, value: 'sunos' });
    onTestFinished(() => void Object.defineProperty(process, 'platform', platform));
    const cwd = folderWith();
    const config = await loadConfig({ args: {}, env: { HOME: folderWith() }, cwd });
    const provider = scriptedProvider([]);
    const { problems, protection } = await testAgent({ provider, config, cwd, approve });
    expect(protection).toBe('Commands are not confined: there is no sandbox for sunos.');
    expect(problems.filter((one) => one === protection)).toHaveLength(count);
  },
);
