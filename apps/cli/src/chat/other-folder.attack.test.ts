import { type AgentOptions, defineTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { TestChat, toolCalls } from '../testing/test-chat.ts';

// A session runs in the folder of a different terminal. The user can answer its approval request in
// this terminal.

const bash = defineTool({
  ...{ name: 'bash', description: 'Runs', input: z.object({ command: z.string() }) },
  execute: async () => 'ran',
});
const rule = { tool: 'bash', command: 'make test', exact: true, decision: 'allow' };

/** Opens a second terminal in a different folder, on a session that waits for approval. */
async function following(text: object) {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const approve: AgentOptions['approve'] = () => ({ decision: 'ask', rule: JSON.stringify(text) });
  const script = [toolCalls(['c1', 'bash', { command: 'make test' }]), 'Done.'];
  const driving = new TestChat({ log, clock, script, tools: [bash], approve, cwd: '/other place' });
  await driving.send('Go');
  await driving.waitForText('make test');
  const chat = new TestChat({ log, clock, cwd: '/folder' });
  await chat.waitForText('make test');
  await chat.quiet();
  return chat;
}

test.for([
  { ...rule },
  { ...rule, in: '/other place' },
  { ...rule, in: '/other place', confined: true },
])('attack: the question names the folder, and offers no rule for this one: %j', async (text) => {
  const chat = await following(text);
  expect(chat.terminal.screen).toContain('another folder than this one: /other place');
  expect(chat.terminal.screen).not.toContain('Always');
});
