import { toolCallId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { inputGuardrail } from '../guardrails/define-guardrail.ts';
import { call } from '../testing/model-script.ts';
import { answer, createTestAgent, resultTexts, session } from '../testing/test-agent.ts';
import { subAgent } from '../tool/agent-tools.ts';

// A client approves the call of a sub-agent, with another task. An input guardrail of the agent refuses the new task.

type Check = Parameters<typeof inputGuardrail>[0]['check'];

async function approveWith(task: string, check: Check) {
  const provider = scriptedProvider(['An expert answers.']);
  const expertAgent = createAgent({ name: 'expert', provider });
  const script = [answer(call('c1', 'ask_expert', { task: 'the weather' })), 'Done.'];
  const stage = createTestAgent(script, {
    ...{ approve: () => 'ask', guardrails: [inputGuardrail({ name: 'no-magic', check })] },
    tools: [subAgent({ name: 'ask_expert', description: 'Expert', agent: expertAgent })],
  });
  const run = stage.agent.run('Go', { session });
  await stage.until('approval_asked');
  await run.approve(toolCallId('c1'), { input: { task } });
  const result = await stage.end(run);
  expect((await stage.agent.replay(session)).divergence).toBeUndefined();
  return { result, read: JSON.stringify(provider.requests.map(({ request }) => request.items)) };
}

test.each([
  ['stops', { verdict: 'stop', reason: 'refused' }, 'blocked'],
  ['changes', { verdict: 'change', to: 'something else' }, 'stop'],
  ['cannot check', undefined, 'error'],
] as const)(
  '18.1156: attack: the model of a sub-agent reads a changed task that a guardrail %s',
  async (_, verdict, reason) => {
    const { result, read } = await approveWith('do some magic', ({ text }) =>
      text.includes('magic') ? (verdict as never) : 'pass',
    );
    expect(read).toBe('[]');
    expect(result.reason).toBe(reason);
  },
);

test('18.1156: a sub-agent gets a changed task that the guardrails let pass', async () => {
  const { result, read } = await approveWith('the tides', () => 'pass');
  expect(read).toContain('the tides');
  expect(resultTexts(result.items).at(-1)).toContain('An expert answers.');
});
