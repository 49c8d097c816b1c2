import { type GuardrailFact, type LogRecord, toolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { GuardrailStep } from '../contract/guardrail.ts';
import { RunError } from '../contract/run-error.ts';
import { createAgent } from '../create-agent.ts';
import { call } from '../testing/model-script.ts';
import { answer, createTestAgent, problemsLeftIn, session, tool } from '../testing/test-agent.ts';
import { handOff } from '../tool/agent-tools.ts';
import { defineTool } from '../tool/define-tool.ts';
import { inputGuardrail, outputGuardrail, toolGuardrail } from './define-guardrail.ts';

const card = /\b\d{16}\b/g;
const number = '4111111111111111';

const noCards = inputGuardrail({
  name: 'no-cards',
  check: ({ text }) =>
    text.match(card)
      ? { verdict: 'change', to: text.replace(card, '[card]'), reason: 'a card number' }
      : 'pass',
});
const onTopic = inputGuardrail({
  name: 'on-topic',
  check: ({ text }) =>
    text.includes('poem') ? { verdict: 'stop', reason: 'We do not write poems' } : 'pass',
});

function noted(seen: string[], what: string): 'pass' {
  seen.push(what);
  return 'pass';
}

async function recordsOf(log: Log): Promise<readonly LogRecord[]> {
  return (await log.read(session, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

const verdictsIn = (records: readonly LogRecord[]): readonly GuardrailFact[] =>
  records.flatMap(({ fact }) => (fact?.type === 'guardrail_applied' ? [fact] : []));

const sentTo = (provider: ReturnType<typeof scriptedProvider>, at = 0): string =>
  JSON.stringify(provider.requests[at]?.request.items);

const pay = (ran: unknown[]) =>
  defineTool({
    name: 'pay',
    description: 'Pays an amount',
    input: z.object({ amount: z.number() }),
    execute: async (input) => {
      ran.push(input);
      return `Paid ${input.amount}.`;
    },
  });

describe('a guardrail on the input', () => {
  test('changes what the model gets, and the log has both', async () => {
    const { agent, end, provider, log } = createTestAgent(['Thanks.', 'Yes.'], {
      guardrails: [onTopic, noCards],
    });
    const result = await end(agent.run(`My card is ${number}`, { session }));
    expect([result.reason, result.text]).toEqual(['stop', 'Thanks.']);
    expect(sentTo(provider)).toContain('My card is [card]');
    expect(sentTo(provider)).not.toContain(number);
    // The same item stays changed in later requests.
    await end(agent.run('Did you get it?', { session }));
    expect(sentTo(provider, 1)).toContain('My card is [card]');
    expect(sentTo(provider, 1)).not.toContain(number);
    const verdicts = verdictsIn(await recordsOf(log));
    expect(verdicts.map(({ name, verdict }) => [name, verdict])).toEqual([
      ['on-topic', 'pass'],
      ['no-cards', 'change'],
      ['on-topic', 'pass'],
      ['no-cards', 'pass'],
    ]);
    expect(verdicts[1]).toMatchObject({ on: 'input', reason: 'a card number' });
    expect(verdicts[1]?.replacedBy).toBeDefined();
    expect(JSON.stringify(await recordsOf(log))).toContain(number);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test.each([
    ['an answer', { kind: 'assistant', parts: [{ kind: 'text', text: `Card ${number}` }] }],
    ['a value', { kind: 'user', parts: [{ kind: 'structured', value: { card: number } }] }],
  ] as const)('attack: %s in the input reaches the model unchecked', async (_title, item) => {
    const guardrails = [noCards];
    const { agent, end, provider, log } = createTestAgent(['Thanks.'], { guardrails });
    const user = { kind: 'user', parts: [{ kind: 'text', text: 'Hi' }] } as const;
    expect((await end(agent.run([item, user], { session }))).text).toBe('Thanks.');
    expect(sentTo(provider)).toContain('[card]');
    expect(sentTo(provider)).not.toContain(number);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('stops the run, and no later request contains the input', async () => {
    const { agent, end, provider } = createTestAgent(['Sure.'], { guardrails: [onTopic] });
    const run = agent.run('Write a poem', { session });
    const result = await end(run);
    expect(result.stop).toEqual({ reason: 'blocked', cause: 'on-topic' });
    if (result.reason !== 'blocked') throw new Error('It must be blocked');
    expect(result.guardrail).toEqual({
      ...{ name: 'on-topic', on: 'input', reason: 'We do not write poems' },
    });
    await expect(run.text()).rejects.toThrow(RunError);
    expect(provider.requests).toHaveLength(0);
    expect((await end(agent.run('Then help me', { session }))).text).toBe('Sure.');
    expect(sentTo(provider)).not.toContain('poem');
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('checks each input once: follow-ups and steering too, but nothing that the loop wrote', async () => {
    const seen: string[] = [];
    const guardrails = [inputGuardrail({ name: 'all', check: ({ text }) => noted(seen, text) })];
    const script: ScriptEntry[] = [answer(call('c1', 'look', {})), 'One.', 'Two.'];
    const look = tool('look', async () => {
      await run.steer('Second');
      await run.followUp('Third');
      return 'seen';
    });
    const { agent, end, records } = createTestAgent(script, { guardrails, tools: [look] });
    const run = agent.run('First', { session });
    await end(run);
    expect(seen).toEqual(['First', 'Second', 'Third']);
    expect(verdictsIn(records)).toHaveLength(3);
  });

  test.each([['wait'], ['park']] as const)('asks the user (%s)', async (whileAsking) => {
    const guardrails = [
      inputGuardrail({ name: 'careful', check: () => ({ verdict: 'ask', reason: 'It is odd' }) }),
    ];
    const { agent, end, log, until, provider } = createTestAgent(['Fine.', 'Never.'], {
      ...{ guardrails, whileAsking },
    });
    let run = agent.run('Hello', { session });
    if (whileAsking === 'wait') await until('approval_asked');
    else expect((await end(run)).stop).toEqual({ reason: 'parked', cause: 'approval' });
    const [question] = await agent.pendingApprovals(session);
    expect(question).toMatchObject({
      ...{ name: 'careful', reason: 'It is odd', input: { text: 'Hello' } },
    });
    expect(provider.requests).toHaveLength(0);
    // 20.F14: an answer cannot change a message, so another text must not count as consent.
    const changed = agent.approve(session, question?.toolCallId ?? '', { input: { text: 'Hi' } });
    await expect(changed).rejects.toMatchObject({ code: 'bad_input' });
    if (whileAsking === 'wait')
      await expect(
        run.approve(question?.toolCallId ?? '', { input: { text: 'Hi' } }),
      ).rejects.toMatchObject({ code: 'bad_input' });
    await agent.approve(session, question?.toolCallId ?? '');
    if (whileAsking === 'park') run = agent.resume(session);
    expect((await end(run)).text).toBe('Fine.');
    let next = agent.run('Again', { session });
    if (whileAsking === 'wait') await until('approval_asked', 2);
    else await end(next);
    const [second] = await agent.pendingApprovals(session);
    await agent.deny(session, second?.toolCallId ?? '', { reason: 'No' });
    if (whileAsking === 'park') next = agent.resume(session);
    const denied = await end(next);
    expect(denied).toMatchObject({ reason: 'blocked', guardrail: { name: 'careful' } });
    const verdicts = verdictsIn(await recordsOf(log)).map(({ verdict }) => verdict);
    expect(verdicts).toEqual(['ask', 'pass', 'ask', 'stop']);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });
});

describe('a guardrail on the output', () => {
  const noSecrets = (hold: boolean) =>
    outputGuardrail({
      ...{ name: 'no-secrets', hold },
      check: ({ text }) =>
        text.includes('secret')
          ? { verdict: 'change', to: text.replaceAll('secret', '[…]') }
          : text.includes('bomb')
            ? { verdict: 'stop', reason: 'danger' }
            : 'pass',
    });

  test.each([[false], [true]])('changes the answer (hold: %s)', async (hold) => {
    const { agent, end, provider, log, records } = createTestAgent(
      [{ content: { parts: ['The secret is 7.'] }, usage: { input: 10, output: 4 } }, 'Yes.'],
      { guardrails: [noSecrets(hold)] },
    );
    const result = await end(agent.run('Go', { session }));
    expect(result.text).toBe('The […] is 7.');
    expect(result.items).toHaveLength(1);
    expect([result.usage.input, result.usage.output]).toEqual([10, 4]);
    await end(agent.run('Really?', { session }));
    expect(sentTo(provider, 1)).toContain('The […] is 7.');
    expect(sentTo(provider, 1)).not.toContain('secret');
    // Held output is never on the log.
    expect(JSON.stringify(records).includes('The secret')).toBe(!hold);
    const isSuperseded = records.some(({ fact }) => fact?.type === 'attempt_superseded');
    expect(isSuperseded).toBe(!hold);
    expect(verdictsIn(records).map(({ verdict }) => verdict)).toEqual(['change', 'pass']);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test.each([[false], [true]])('stops the run and retracts the answer (hold: %s)', async (hold) => {
    const { agent, end, provider, log, records } = createTestAgent(['A bomb.', 'Fine.'], {
      guardrails: [noSecrets(hold)],
    });
    const result = await end(agent.run('Go', { session }));
    expect(result).toMatchObject({
      ...{ reason: 'blocked', text: '', guardrail: { name: 'no-secrets', on: 'output' } },
    });
    expect(JSON.stringify(records).includes('A bomb.')).toBe(!hold);
    expect((await end(agent.run('Again', { session }))).text).toBe('Fine.');
    expect(sentTo(provider, 1)).not.toContain('bomb');
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('streams before the verdict, and with hold only after it', async () => {
    for (const hold of [false, true]) {
      const verdict = Promise.withResolvers<'pass'>();
      const guardrails = [outputGuardrail({ name: 'slow', hold, check: () => verdict.promise })];
      const { agent, end, until, records, clock } = createTestAgent(['Hello there.'], {
        guardrails,
      });
      const run = agent.run('Go', { session });
      await until(hold ? 'response_started' : 'response_finished');
      clock.advance(50);
      const isShown = () => JSON.stringify(records).includes('Hello there.');
      expect(isShown()).toBe(!hold);
      verdict.resolve('pass');
      expect((await end(run)).text).toBe('Hello there.');
      expect(isShown()).toBe(true);
    }
  });

  test('keeps the calls of a changed answer, and runs them once', async () => {
    const ran: unknown[] = [];
    const script = [answer('The secret.', call('c1', 'pay', { amount: 1 })), 'Done.'];
    const { agent, end, provider, log } = createTestAgent(script, {
      ...{ guardrails: [noSecrets(false)], tools: [pay(ran)] },
    });
    const result = await end(agent.run('Go', { session }));
    expect([result.text, ran]).toEqual(['Done.', [{ amount: 1 }]]);
    expect(sentTo(provider, 1)).toContain('The […].');
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('changes a structured value', async () => {
    const output = z.object({ city: z.string() });
    const guardrails = [
      outputGuardrail({
        name: 'capital',
        check: ({ value }) =>
          JSON.stringify(value) === '{"city":"oslo"}'
            ? { verdict: 'change', to: { value: { city: 'Oslo' } } }
            : 'pass',
      }),
    ];
    const part = { kind: 'structured', value: { city: 'oslo' } } as const;
    const agent = createAgent({
      ...{ output, guardrails },
      provider: scriptedProvider([{ content: { parts: [part] } }]),
    });
    expect(await agent.run('Where?').value()).toEqual({ city: 'Oslo' });
  });

  test('asks about an answer, after which its calls run', async () => {
    const ran: unknown[] = [];
    const guardrails = [
      outputGuardrail({
        name: 'look',
        check: ({ isFinal }) => (isFinal ? 'pass' : { verdict: 'ask' }),
      }),
    ];
    const script = [answer('I pay.', call('c1', 'pay', { amount: 1 })), 'Done.'];
    const { agent, end, log } = createTestAgent(script, {
      ...{ guardrails, tools: [pay(ran)], whileAsking: 'park' },
    });
    const { pendingApprovals } = await end(agent.run('Go', { session }));
    expect(pendingApprovals).toMatchObject([{ name: 'look', input: { text: 'I pay.' } }]);
    expect(ran).toEqual([]);
    await agent.approve(session, pendingApprovals[0]?.toolCallId ?? '');
    expect((await end(agent.resume(session))).text).toBe('Done.');
    expect(ran).toEqual([{ amount: 1 }]);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });
});

describe('a guardrail on tool calls', () => {
  test('has the types of its tools, and changes the input: the model is told what ran', async () => {
    const ran: unknown[] = [];
    const paying = pay(ran);
    const atMost100 = toolGuardrail({
      ...{ name: 'at-most-100', tools: [paying] },
      check: ({ input }) => {
        expectTypeOf(input).toEqualTypeOf<{ amount: number }>();
        return input.amount > 100 ? { verdict: 'change', to: { amount: 100 } } : 'pass';
      },
    });
    const script = [answer(call('c1', 'pay', { amount: 500 }), call('c2', 'other', {})), 'Done.'];
    const { agent, end, provider, log, records } = createTestAgent(script, {
      ...{ guardrails: [atMost100], tools: [paying, tool('other', () => 'ok')] },
    });
    const result = await end(agent.run('Go', { session }));
    expect(ran).toEqual([{ amount: 100 }]);
    expect(result.toolCalls[0]).toMatchObject({ name: 'pay', input: { amount: 100 } });
    expect(sentTo(provider, 1)).toContain('A guardrail changed the arguments of this call to');
    expect(verdictsIn(records)).toMatchObject([
      { verdict: 'change', toolCallId: 'c1', input: { amount: 100 } },
    ]);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('stops the run before any call of the turn runs', async () => {
    const ran: unknown[] = [];
    const none = toolGuardrail({
      name: 'none',
      check: ({ name }) => (name === 'drop' ? { verdict: 'stop', reason: 'never' } : 'pass'),
    });
    const script = [answer(call('c1', 'pay', { amount: 5 }), call('c2', 'drop', {})), 'Later.'];
    const { agent, end, log } = createTestAgent(script, {
      ...{ guardrails: [none], tools: [pay(ran), tool('drop', () => ran.push('dropped'))] },
    });
    const result = await end(agent.run('Go', { session }));
    expect(result).toMatchObject({ reason: 'blocked', guardrail: { on: 'tool_call' } });
    expect(ran).toEqual([]);
    expect(result.toolCalls.map(({ ok }) => ok)).toEqual([false, false]);
    expect((await end(agent.run('Go on', { session }))).text).toBe('Later.');
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test.each([
    ['stop', { verdict: 'stop', reason: 'too much' }],
    ['change', { verdict: 'change', to: { amount: 50 } }],
    ['nothing', undefined],
  ] as const)('attack: an approval with another input gets past a guardrail: %s', async (_, no) => {
    const ran: unknown[] = [];
    const limit = toolGuardrail({
      name: 'limit',
      check: ({ input }) => ((input as { amount: number }).amount > 100 ? (no as never) : 'pass'),
    });
    const script: ScriptEntry[] = [
      ...[
        answer(call('c1', 'pay', { amount: 5 })),
        answer(call('c2', 'pay', { amount: 6 })),
        'Done.',
      ],
    ];
    const { agent, end, log } = createTestAgent(script, {
      ...{ guardrails: [limit], tools: [pay(ran)], approve: () => 'ask', whileAsking: 'park' },
    });
    await end(agent.run('Pay', { session }));
    await agent.approve(session, 'c1', { input: { amount: 1000 } });
    await end(agent.resume(session));
    await agent.approve(session, 'c2', { input: { amount: 7 } });
    expect((await end(agent.resume(session))).text).toBe('Done.');
    expect(ran).toEqual([{ amount: 7 }]);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('asks although the policy allows, and shows the changed input', async () => {
    const ran: unknown[] = [];
    const guardrails = [
      toolGuardrail({ name: 'halve', check: () => ({ verdict: 'change', to: { amount: 4 } }) }),
      toolGuardrail({ name: 'ask', check: () => ({ verdict: 'ask', reason: 'money' }) }),
    ];
    const { agent, end, log } = createTestAgent([answer(call('c1', 'pay', { amount: 8 })), 'Ok.'], {
      ...{ guardrails, tools: [pay(ran)], whileAsking: 'park' },
    });
    const { pendingApprovals } = await end(agent.run('Go', { session }));
    expect(pendingApprovals).toMatchObject([
      { name: 'pay', input: { amount: 4 }, reason: 'money' },
    ]);
    // An answer to the call itself is no answer about the changed input.
    await log.submit(session, { type: 'approve', toolCallId: 'c1' }, 'k');
    expect((await end(agent.resume(session))).reason).toBe('parked');
    expect(ran).toEqual([]);
    await agent.approve(session, pendingApprovals[0]?.toolCallId ?? '');
    expect((await end(agent.resume(session))).text).toBe('Ok.');
    expect(ran).toEqual([{ amount: 4 }]);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('a denial answers the call, and the run goes on', async () => {
    const ran: unknown[] = [];
    const guardrails = [toolGuardrail({ name: 'ask', check: () => ({ verdict: 'ask' }) })];
    const { agent, end, until } = createTestAgent(
      [answer(call('c1', 'pay', { amount: 8 })), 'Understood.'],
      { guardrails, tools: [pay(ran)] },
    );
    const run = agent.run('Go', { session });
    await until('approval_asked');
    await run.deny(toolCallId('c1'), { reason: 'too much' });
    expect((await end(run)).text).toBe('Understood.');
    expect(ran).toEqual([]);
  });
});

test('a guardrail has the context of the run, typed', async () => {
  interface Desk {
    readonly tenant: string;
  }
  const seen: string[] = [];
  const agent = createAgent({
    provider: scriptedProvider(['Hello.']),
    guardrails: [
      inputGuardrail({
        name: 'tenant',
        check: (_input, { context }: GuardrailStep<Desk>) => noted(seen, context.tenant),
      }),
    ],
  });
  // @ts-expect-error: the context is required
  expect((await agent.run('Hi').result).reason).toBe('error');
  await agent.run('Hi', { context: { tenant: 'acme' } }).result;
  expect(seen).toEqual(['acme']);
});

test('guardrails of the run stay in force after a hand-off, and those of the new agent are added', async () => {
  const second = outputGuardrail({
    name: 'second',
    check: ({ text }) => (text === 'no' ? { verdict: 'change', to: 'No, thank you.' } : 'pass'),
  });
  const first = outputGuardrail({
    name: 'first',
    check: ({ text }) => (text.includes('bomb') ? { verdict: 'stop', reason: 'danger' } : 'pass'),
  });
  const desk = createAgent({
    ...{ name: 'desk', provider: scriptedProvider(['no', 'A bomb.']), guardrails: [second] },
  });
  const to = handOff({ to: desk, description: 'To the desk' });
  const script = [answer(call('c1', to.name, {}))];
  const { agent, end } = createTestAgent(script, { tools: [to], guardrails: [first] });
  expect((await end(agent.run('Go', { session }))).text).toBe('No, thank you.');
  const result = await end(agent.run('Go on', { session }));
  expect(result).toMatchObject({ reason: 'blocked', guardrail: { name: 'first' } });
  const taken = outputGuardrail({ name: 'second', check: () => 'pass' });
  const clash = createTestAgent(script, { tools: [to], guardrails: [taken] });
  expect(await clash.end(clash.agent.run('Go', { session }))).toMatchObject({
    error: { code: 'name_taken' },
  });
});

test('guardrails are checked when the agent is created', () => {
  expect(() =>
    createAgent({ provider: scriptedProvider([]), guardrails: [noCards, noCards] }),
  ).toThrow(expect.objectContaining({ code: 'name_taken' }));
  // @ts-expect-error: it must be created with a function
  expect(() => createAgent({ provider: scriptedProvider([]), guardrails: [{}] })).toThrow(
    expect.objectContaining({ code: 'bad_option' }),
  );
  expect(() => inputGuardrail({ name: 'bad name', check: () => 'pass' })).toThrow('name');
  // @ts-expect-error: unknown option
  expect(() => inputGuardrail({ name: 'x', checks: () => 'pass', check: () => 'pass' })).toThrow(
    expect.objectContaining({ code: 'bad_option' }),
  );
});
