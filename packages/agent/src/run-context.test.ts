import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { Agent } from './contract/agent.ts';
import type { StepInfo, ToolContext } from './contract/tool.ts';
import { createAgent } from './create-agent.ts';
import { requestAt } from './history/request-at.ts';
import { call } from './testing/model-script.ts';
import { answer, createTestAgent, session, tool } from './testing/test-agent.ts';
import { subAgent } from './tool/agent-tools.ts';
import { defineTool } from './tool/define-tool.ts';

interface Desk {
  readonly user: string;
}

interface Clock {
  readonly today: string;
}

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order',
  input: z.object({ order: z.string() }),
  execute: async ({ order }, { context }: ToolContext<Desk>) => {
    expectTypeOf(order).toBeString();
    return `${context.user} refunded ${order}`;
  },
});
const now = defineTool({
  name: 'now',
  description: 'The date',
  input: z.object({}),
  execute: async (_input, { context }: ToolContext<Clock>) => context.today,
});
const plain = defineTool({
  name: 'plain',
  description: 'Needs no context',
  input: z.object({}),
  execute: async (_input, { context }) => {
    expectTypeOf(context).toBeUnknown();
    return 'done';
  },
});
const calls = answer(call('c1', 'refund', { order: '17' }), call('c2', 'now', {}));
const context = { user: 'Ada', today: 'Monday' };

describe('the context of a run', () => {
  test('reaches tools, instructions and the policy, with the types of all of them', async () => {
    const provider = scriptedProvider([calls, 'Done.']);
    const asked: unknown[] = [];
    const agent = createAgent({
      provider,
      tools: [refund, now, plain],
      instructions: (_items, step) => {
        expectTypeOf(step.context).toEqualTypeOf<Desk & Clock>();
        return `You work for ${step.context.user}, turn ${step.turn} of ${step.session}.`;
      },
      approve: ({ name }, step) => {
        expectTypeOf(step.context).toEqualTypeOf<Desk & Clock>();
        asked.push([name, step.context.today, step.turn]);
        return 'allow';
      },
    });
    // @ts-expect-error: the tools need a user and a date
    const incomplete = () => agent.run('Go', { context: { user: 'Ada' } });
    // @ts-expect-error: the context is required
    const missing = () => agent.resume('s');
    expect([incomplete, missing]).toHaveLength(2);
    const { toolCalls } = await agent.run('Go', { context, session: 's' }).result;
    expect(toolCalls.map(({ text }) => text)).toEqual(['Ada refunded 17', 'Monday']);
    expect(asked).toEqual([
      ['refund', 'Monday', 1],
      ['now', 'Monday', 1],
    ]);
    const [first] = provider.requests.map(({ request }) => request.items[0]?.parts[0]);
    expect(first).toMatchObject({ text: 'You work for Ada, turn 1 of s.' });
    const past = await requestAt(agent, 's', { turn: 2, attempt: 1 }, { context });
    expect(JSON.stringify(past?.described)).toContain('You work for Ada, turn 2 of s.');
  });

  test('is inferred from instructions alone, and optional for other agents', () => {
    const provider = scriptedProvider([]);
    const typed = createAgent({
      provider,
      instructions: (_items, step: StepInfo<Desk>) => step.context.user,
    });
    expectTypeOf<Parameters<typeof typed.run>[1]['context']>().toEqualTypeOf<Desk>();
    const untyped = createAgent({ provider, tools: [plain] });
    expectTypeOf<Parameters<typeof untyped.run>['length']>().toEqualTypeOf<1 | 2>();
    // An agent with a typed context can be used where any agent can be used.
    expectTypeOf(typed).toExtend<Agent>();
  });

  test('is not on the log, and a resumed run takes it again', async () => {
    const log = memoryLog();
    const provider = scriptedProvider([answer(call('c1', 'refund', { order: '17' })), 'Done.']);
    const agent = createAgent({
      ...{ provider, log, tools: [refund], whileAsking: 'park' },
      approve: () => 'ask',
    });
    const parked = await agent.run('Go', { session, context: { user: 'secret-Ada' } }).result;
    expect(parked.reason).toBe('parked');
    await agent.approve(session, 'c1');
    const { toolCalls } = await agent.resume(session, { context: { user: 'Bob' } }).result;
    expect(toolCalls.map(({ text }) => text)).toEqual(['Bob refunded 17']);
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    expect(JSON.stringify(records)).not.toContain('secret-Ada');
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('is passed on to sub-agents and to forks', async () => {
    const child = createAgent({
      provider: scriptedProvider([answer(call('d1', 'refund', { order: '9' })), 'Refunded.']),
      tools: [refund],
    });
    const helper = subAgent({ name: 'helper', description: 'Helps', agent: child });
    const script = [answer(call('c1', 'helper', { task: 'Refund 9' })), 'Done.', 'Again.'];
    const seen: unknown[] = [];
    const agent = createAgent({
      ...{ provider: scriptedProvider(script), tools: [helper] },
      observers: [({ fact }) => void (fact?.type === 'turn_started' && seen.push(fact))],
      instructions: (_items, step: StepInfo<Desk>) => {
        seen.push(step.context.user);
        return undefined;
      },
    });
    const refunds: string[] = [];
    const observers = [
      ({ delta }: { delta?: { type: string; part?: object | undefined } | undefined }) => {
        if (delta?.part !== undefined) refunds.push(JSON.stringify(delta.part));
      },
    ];
    await agent.run('Go', { session, context: { user: 'Ada' }, observers }).result;
    expect(refunds.join('\n')).toContain('Ada refunded 9');
    await agent.regenerate(session, { context: { user: 'Bob' } }).result;
    expect(seen).toContain('Bob');
  });
});

describe('the idempotency key of a call', () => {
  test('is the same in each execution, and another one for each call', async () => {
    const seen: string[] = [];
    const flaky = tool(
      'pay',
      (_input, { idempotencyKey, executionId }) => {
        seen.push(`${idempotencyKey} ${executionId}`);
        if (seen.length < 3) throw new Error('no answer');
        return 'paid';
      },
      { retries: 2 },
    );
    // The model uses the id c1 twice; the loop gives the second call another id.
    const script = [answer(call('c1', 'pay', {})), answer(call('c1', 'pay', {})), 'Done.'];
    const { agent, end } = createTestAgent(script, { tools: [flaky] });
    await end(agent.run('Pay', { session }));
    const keys = seen.map((line) => line.split(' ')[0]);
    expect(keys.slice(0, 3)).toEqual(['s:1:c1', 's:1:c1', 's:1:c1']);
    expect(new Set(keys).size).toBe(2);
    expect(new Set(seen).size).toBe(4);
  });

  test('is the same in another process after a crash', async () => {
    const log = memoryLog();
    const keys: string[] = [];
    const started = Promise.withResolvers<void>();
    const leave = new AbortController();
    const pay = (execute: () => Promise<string>) =>
      tool(
        'pay',
        (_input, { idempotencyKey }) => {
          keys.push(idempotencyKey);
          return execute();
        },
        { afterCrash: 'repeat' },
      );
    const hang = () => {
      started.resolve();
      return new Promise<string>(() => {});
    };
    const script = scriptedProvider([answer(call('c1', 'pay', {})), 'Paid.']);
    const dying = createTestAgent([], { provider: script, log, tools: [pay(hang)] });
    const run = dying.agent.run('Pay', { session, leave: leave.signal });
    await started.promise;
    leave.abort();
    expect((await dying.end(run)).stop.cause).toBe('left');
    const next = createAgent({ provider: script, log, tools: [pay(async () => 'paid')] });
    expect((await next.resume(session).result).text).toBe('Paid.');
    expect(keys).toEqual(['s:1:c1', 's:1:c1']);
  });
});
