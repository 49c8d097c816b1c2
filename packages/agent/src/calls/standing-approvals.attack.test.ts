import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { createAgent, handOff } from '../index.ts';
import { call } from '../testing/model-script.ts';
import { answer, createTestAgent, session, tool } from '../testing/test-agent.ts';
import { VirtualClock } from '../testing/virtual-time.ts';

// A person approves a call "for the session". The approval is about the tool that the question named.

test.each(['later', 'already asked'] as const)(
  '18.1035: attack: after a hand-off, a standing approval allows a tool of the same name (%s)',
  async (when) => {
    const clock = new VirtualClock();
    const ran: string[] = [];
    const save = (who: string) => tool('save', async () => ran.push(who));
    const options = { clock, approve: () => ({ decision: 'ask' as const, rule: 'save' }) };
    const calls =
      when === 'later'
        ? [call('c3', 'save', {})]
        : [call('c3', 'save', {}), call('c4', 'save', {})];
    const billing = createAgent({
      ...{ ...options, name: 'billing', tools: [save('billing')] },
      provider: scriptedProvider([answer(...calls), 'Done.'], { clock }),
    });
    const script = [
      answer(call('c1', 'save', {})),
      answer(call('c2', 'transfer_to_billing', { reason: 'r' })),
    ];
    const stage = createTestAgent(script, {
      ...{ ...options, name: 'front', whileAsking: 'wait' },
      tools: [save('front'), handOff({ to: billing, description: 'Bills' })],
      approve: ({ call: { name } }) =>
        name === 'save' ? { decision: 'ask', rule: 'save' } : 'allow',
    });
    const run = stage.agent.run('Go', { session });
    await stage.until('approval_asked');
    await run.approve('c1' as never, { until: 'session' });
    await stage.until('approval_asked', 1 + calls.length);
    expect(ran).toEqual(['front']);
    // Of two calls of the same agent, one lasting answer covers both.
    await run.approve('c3' as never, { until: 'session' });
    await stage.end(run);
    expect(ran).toEqual(['front', ...calls.map(() => 'billing')]);
  },
);

test('a standing approval covers all tools for which the policy names its rule', async () => {
  const ran: string[] = [];
  const script = [answer(call('c1', 'write', {})), answer(call('c2', 'edit', {})), 'Done.'];
  const stage = createTestAgent(script, {
    tools: ['write', 'edit'].map((name) => tool(name, async () => ran.push(name))),
    approve: () => ({ decision: 'ask', rule: 'all file changes' }),
  });
  const run = stage.agent.run('Go', { session });
  await stage.until('approval_asked');
  await run.approve('c1' as never, { until: 'session' });
  await stage.end(run);
  expect(ran).toEqual(['write', 'edit']);
});
