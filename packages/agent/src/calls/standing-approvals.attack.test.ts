import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  createAgent,
  handOff,
  inputGuardrail,
  subAgent,
  type Tool,
  toolGuardrail,
} from '../index.ts';
import { call } from '../testing/model-script.ts';
import { answer, createTestAgent, session, tool } from '../testing/test-agent.ts';
import { VirtualClock } from '../testing/virtual-time.ts';
import { defineTool } from '../tool/define-tool.ts';

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

const pay = (paid: unknown[]) =>
  defineTool({
    ...{ name: 'pay', description: 'Pays', input: z.object({ euros: z.number() }) },
    execute: async ({ euros }) => `${paid.push(euros)}`,
  });
const big = toolGuardrail({
  name: 'big',
  check: ({ input }) =>
    (input as { euros: number }).euros > 100
      ? { verdict: 'ask', reason: 'more than 100 euros' }
      : 'pass',
});

test.each(['in one answer', 'later', 'of a sub-agent'] as const)(
  '18.968: attack: a standing approval answers the question of a guardrail, %s',
  async (when) => {
    const paid: unknown[] = [];
    const clock = new VirtualClock();
    const calls = [call('c1', 'pay', { euros: 5 }), call('c2', 'pay', { euros: 5000 })];
    const script: ScriptEntry[] =
      when === 'in one answer' ? [answer(...calls)] : calls.map((one) => answer(one));
    const options = {
      ...{ clock, tools: [pay(paid)], guardrails: [big] },
      whileAsking: 'wait',
      approve: () => ({ decision: 'ask', rule: 'pay' }) as const,
    } as const;
    const desk = createAgent({
      ...{ ...options, name: 'desk', log: memoryLog({ clock }) },
      provider: scriptedProvider([...script, 'Done.'], { clock }),
    });
    const stage =
      when === 'of a sub-agent'
        ? createTestAgent([answer(call('c0', 'desk', { task: 'Pay' })), 'Done.'], {
            ...{ clock, whileAsking: 'wait', name: 'front' },
            tools: [subAgent({ name: 'desk', description: 'Pays', agent: desk })],
          })
        : createTestAgent([...script, 'Done.'], options);
    const run = stage.agent.run('Go', { session });
    const asked = () =>
      stage.records.flatMap(({ fact }) => (fact?.type === 'approval_asked' ? fact : []));
    await stage.until('approval_asked', when === 'in one answer' ? 2 : 1);
    await run.approve(asked()[0]?.toolCallId ?? ('' as never), { until: 'session' });
    await stage.until('approval_asked', 2);
    expect(asked()[1]?.rule).toBeUndefined();
    await run.deny(asked()[1]?.toolCallId ?? ('' as never));
    await stage.end(run);
    expect(paid).toEqual([5]);
  },
);

test('18.969: attack: a standing approval for one tool answers for a sub-agent of another tool', async () => {
  const ran: string[] = [];
  const clock = new VirtualClock();
  const sub = (place: string) =>
    subAgent({
      ...{ name: `to_${place}`, description: 'Deploys' },
      agent: createAgent({
        ...{ clock, log: memoryLog({ clock }), whileAsking: 'wait' },
        tools: [tool('deploy', async () => ran.push(place))],
        approve: () => ({ decision: 'ask', rule: 'deploy' }),
        provider: scriptedProvider([answer(call('c1', 'deploy', {})), 'Done.'], { clock }),
      }),
    });
  const script = [
    answer(call('a', 'to_test', { task: 'Go' })),
    answer(call('b', 'to_prod', { task: 'Go' })),
    'Done.',
  ];
  const stage = createTestAgent(script, {
    ...{ clock, whileAsking: 'wait', tools: [sub('test'), sub('prod')] },
  });
  const run = stage.agent.run('Go', { session });
  const asked = () =>
    stage.records.flatMap(({ fact }) => (fact?.type === 'approval_asked' ? fact : []));
  await stage.until('approval_asked');
  await run.approve(asked()[0]?.toolCallId ?? ('' as never), { until: 'session' });
  await stage.until('approval_asked', 2);
  await run.deny(asked()[1]?.toolCallId ?? ('' as never));
  await stage.end(run);
  expect(ran).toEqual(['test']);
});

test('18.970: attack: two agents of a chain of hand-offs have different guardrails of one name', async () => {
  const guardrail = () => inputGuardrail({ name: 'policy', check: () => 'pass' });
  const agentOf = (name: string, tools: readonly Tool[]) =>
    createAgent({
      ...{ name, tools, log: memoryLog(), provider: scriptedProvider([]) },
      guardrails: [guardrail()],
    });
  const legal = agentOf('legal', []);
  const billing = agentOf('billing', [handOff({ to: legal, description: 'Law' })]);
  const front = createAgent({
    ...{ name: 'front', log: memoryLog(), provider: scriptedProvider(['Hi']) },
    tools: [handOff({ to: billing, description: 'Bills' })],
  });
  expect(await front.run('Go').result).toMatchObject({
    cause: {
      code: 'name_taken',
      message: expect.stringContaining('between billing and legal: both have a guardrail'),
    },
  });
});
