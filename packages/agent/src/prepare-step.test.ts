import type { Item, LogRecord } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { anthropic } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { cachedRequest, cacheFaults } from '../../providers/src/testing/cache-law.ts';
import type { StepToPrepare } from './contract/settings.ts';
import type { StepInfo } from './contract/tool.ts';
import { type AgentOptions, createAgent } from './create-agent.ts';
import { requestAt } from './history/request-at.ts';
import { stepCount, toolCalled } from './stop-conditions.ts';
import { FakeModelServer } from './testing/cache/fake-model-server.ts';
import { call } from './testing/model-script.ts';
import { answer, createTestAgent, resultTexts, session, tool } from './testing/test-agent.ts';
import { VirtualClock } from './testing/virtual-time.ts';

const look = tool('look', () => 'seen');
const pay = tool('pay', () => 'paid');
const tools = [look, pay];
const looks = (id: string) => answer(call(id, 'look', { id }));

async function recordsOf(log: AgentOptions['log']): Promise<readonly LogRecord[]> {
  const read = await log?.read(session, { maxBytes: Number.POSITIVE_INFINITY });
  return read?.records ?? [];
}

const startsIn = (records: readonly LogRecord[]) =>
  records.flatMap(({ fact }) => (fact?.type === 'response_started' ? [fact] : []));

describe('prepareStep', () => {
  test('chooses the provider, the tools, the instructions, the items and the tool choice', async () => {
    const log = memoryLog();
    const main = scriptedProvider([looks('c1'), 'Done.'], { model: 'large' });
    const small = scriptedProvider([looks('c2')], { model: 'small' });
    const seen: Pick<StepToPrepare, 'step' | 'turn'>[] = [];
    const agent = createAgent({
      ...{ provider: main, log, tools, instructions: 'Be brief.' },
      prepareStep: ({ step, turn, items, context }: StepToPrepare<{ readonly plan: string }>) => {
        seen.push({ step, turn });
        if (step === 0) return undefined;
        if (step === 2) return { request: { toolChoice: 'none' } };
        return {
          ...{ provider: small, tools: ['look'], instructions: `Plan: ${context.plan}` },
          ...{ items: items.slice(-2), request: { toolChoice: { name: 'look' } } },
        };
      },
    });
    const result = await agent.run('Go', { session, context: { plan: 'free' } }).result;
    expect(result.text).toBe('Done.');
    expect(seen).toEqual([0, 1, 2].map((step) => ({ step, turn: step + 1 })));
    const [second] = small.requests.map(({ request }) => request);
    expect(second?.tools?.map(({ name }) => name)).toEqual(['look']);
    expect(second?.toolChoice).toEqual({ name: 'look' });
    expect(second?.items.map(({ kind }) => kind)).toEqual(['system', 'assistant', 'tool']);
    expect(JSON.stringify(second?.items[0])).toContain('Plan: free');
    const [first, third] = main.requests.map(({ request }) => request);
    expect([first?.toolChoice, third?.toolChoice]).toEqual([undefined, 'none']);
    expect(third?.items).toHaveLength(6);
    const records = await recordsOf(log);
    expect(startsIn(records).map(({ model, tools: offered }) => [model, offered])).toEqual([
      ['large', undefined],
      ['small', ['look']],
      ['large', undefined],
    ]);
    const past = await requestAt(
      agent,
      session,
      { turn: 2, attempt: 1 },
      { context: { plan: 'free' } },
    );
    expect(past).toMatchObject({ model: 'small', notes: [expect.any(String)] });
    expect(JSON.stringify(past?.described)).toContain('Plan: free');
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('is called once for a step: retries and fallbacks use the same changes', async () => {
    const fault = { type: 'error', after: 0, error: 'server' } as const;
    const failure = { content: { parts: ['never'] }, fault };
    const small = scriptedProvider([failure, failure], {
      model: 'small',
      clock: new VirtualClock(),
    });
    let prepared = 0;
    const log = memoryLog();
    const { agent, end } = createTestAgent([looks('c1'), 'Done.'], {
      ...{ log, tools, retry: { maxAttempts: 2 } },
      prepareStep: ({ step }) => {
        prepared++;
        return step === 0 ? { provider: small, tools: ['look'] } : {};
      },
    });
    const { text, reason } = await end(agent.run('Go', { session }));
    expect([text, reason, prepared]).toEqual(['Done.', 'stop', 2]);
    const starts = startsIn(await recordsOf(log));
    expect(starts.map(({ model }) => model === 'small')).toEqual([true, true, false, false]);
    expect(starts.map(({ tools: offered }) => offered?.length)).toEqual([1, 1, 1, undefined]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('a call of a tool that the step did not offer is rejected, also after a restart', async () => {
    const ran: string[] = [];
    const both = ['look', 'pay'].map((name) => tool(name, () => void ran.push(name)));
    const log = memoryLog();
    const script: ScriptEntry[] = [answer(call('c1', 'pay', {}), call('c2', 'look', {})), 'Done.'];
    const options = {
      ...{ provider: scriptedProvider(script), log, tools: both, whileAsking: 'park' },
      approve: () => 'ask',
      prepareStep: ({ step }: StepToPrepare) => (step === 0 ? { tools: ['look'] } : undefined),
    } satisfies AgentOptions;
    const parked = await createAgent(options).run('Go', { session }).result;
    expect(parked.pendingApprovals.map(({ name }) => name)).toEqual(['look']);
    // In another process, the log tells what was offered.
    const agent = createAgent({ ...options, prepareStep: () => ({ tools: ['pay'] }) });
    await agent.approve(session, 'c2');
    const { items } = await agent.resume(session).result;
    expect(ran).toEqual(['look']);
    expect(items.at(-1)?.kind).toBe('assistant');
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    const rejected = records.flatMap(({ fact }) =>
      fact?.type === 'tool_call_rejected' ? fact : [],
    );
    expect(rejected.map(({ name, code }) => [name, code])).toEqual([['pay', 'unknown']]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test.each([
    [{ tools: ['lok'] }, 'the agent has no tool lok. Did you mean look?'],
    [{ activeTools: ['look'] }, 'Use tools'],
    [{ toolChoice: 'none' }, 'Use request: { toolChoice }'],
    [{ request: { temprature: 1 } }, 'temperature'],
    [{ provider: 'gpt-5' }, 'the provider is not a provider'],
    [{ items: 'hello' }, 'it must be a list of items'],
  ])('%j ends the run as an error that says why', async (prepared, message) => {
    const { agent, end } = createTestAgent(['Never.'], {
      ...{ tools, prepareStep: () => prepared as never },
    });
    const { reason, cause } = await end(agent.run('Go', { session }));
    expect(reason).toBe('error');
    expect(cause).toMatchObject({ code: 'bad_option', message: expect.stringContaining(message) });
  });

  test('a provider without a known price is refused if there is a maximum cost', async () => {
    const limits = { maxCost: { amount: '1', currency: 'USD' } };
    const info = { prices: 'reported' } as const;
    const provider = { ...scriptedProvider(['Never.']), info };
    const prepareStep = () => ({ provider: { ...provider, info: undefined } });
    const { cause } = await createAgent({ provider, limits, prepareStep }).run('Go').result;
    expect(cause).toMatchObject({ code: 'no_price' });
  });

  test('keeps the cached prefix if it changes nothing that a provider caches', async () => {
    const clock = new VirtualClock();
    const log = memoryLog({ clock });
    const server = new FakeModelServer('anthropic', log, clock);
    const { fetch } = server;
    const provider = anthropic({ model: 'claude-opus-4-8', apiKey: 'k', fetch, clock });
    const { agent, end } = createTestAgent([], {
      ...{ provider, clock, log, tools, instructions: 'Be brief.' },
      // All tools in another order, and the same items.
      prepareStep: ({ items }) => ({ tools: ['pay', 'look'], items: [...items] }),
    });
    await end(agent.run('One', { session }));
    await end(agent.run('Two', { session }));
    const [first, second] = server.requests.map(({ body }) => cachedRequest('anthropic', body));
    if (first === undefined || second === undefined) return expect.fail('two requests');
    expect(cacheFaults(first, second, { isRewritten: false, isNext: true })).toEqual([]);
  });
});

describe('stopWhen', () => {
  const script = [looks('c1'), answer(call('c2', 'pay', {})), looks('c3'), 'Done.'];

  test('ends the run before the next request, with the cause on the log', async () => {
    const log = memoryLog();
    const provider = scriptedProvider(script);
    const agent = createAgent({ provider, log, tools, stopWhen: toolCalled('pay', 'sell') });
    const { stop, items } = await agent.run('Go', { session }).result;
    expect(stop).toEqual({ reason: 'limit', cause: 'tool pay was called' });
    expect(resultTexts(items)).toEqual(['seen', 'paid']);
    expect(provider.requests).toHaveLength(2);
    const last = (await recordsOf(log)).at(-1);
    expect(last?.fact).toMatchObject({ type: 'run_finished', stop });
    expect((await agent.replay(session)).divergence).toBeUndefined();
    // The next run counts from the start.
    expect((await agent.run('On', { session }).result).reason).toBe('stop');
  });

  test('counts the steps of the run, also of a run that was parked or interrupted', async () => {
    const log = memoryLog();
    const options = {
      ...{ provider: scriptedProvider([looks('c1'), looks('c2'), looks('c3')]), log, tools },
      ...{ stopWhen: [toolCalled('pay'), stepCount(2)], whileAsking: 'park' },
    } satisfies AgentOptions;
    const leave = new AbortController();
    const dying = createAgent({
      ...options,
      observers: [({ fact }) => void (fact?.type === 'turn_finished' && leave.abort())],
    });
    const left = await dying.run('Go', { session, leave: leave.signal }).result;
    expect(left.stop.cause).toBe('left');
    const agent = createAgent(options);
    const { stop } = await agent.resume(session).result;
    expect(stop).toEqual({ reason: 'limit', cause: '2 steps' });
    expect(
      (await recordsOf(log)).filter(({ fact }) => fact?.type === 'turn_finished'),
    ).toHaveLength(2);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('a failed call does not count, and an answer without calls ends the run normally', async () => {
    const broken = tool('look', () => {
      throw new Error('dark');
    });
    const provider = scriptedProvider([looks('c1'), 'Done.']);
    const agent = createAgent({ provider, tools: [broken], stopWhen: toolCalled('look') });
    expect((await agent.run('Go').result).reason).toBe('stop');
    const one = createAgent({ provider: scriptedProvider(['Hi.']), stopWhen: stepCount(1) });
    expect((await one.run('Go').result).reason).toBe('stop');
  });

  test('takes functions, and a function that throws ends the run as an error', async () => {
    const said: Item['kind'][][] = [];
    const own = (stopWhen: AgentOptions['stopWhen']) =>
      createAgent({ provider: scriptedProvider(script), tools, stopWhen }).run('Go').result;
    const counted = await own(({ steps, items }) => {
      said.push(items.map(({ kind }) => kind));
      return steps === 1;
    });
    expect(counted.stop).toEqual({ reason: 'limit', cause: 'stopWhen' });
    expect(said).toEqual([[], ['assistant', 'tool']]);
    const error = new Error('no idea');
    const failed = await own(() => {
      throw error;
    });
    expect(failed).toMatchObject({ reason: 'error', cause: error });
    expect(() => createAgent({ provider: scriptedProvider([]), stopWhen: 3 as never })).toThrow(
      'it is not a function',
    );
  });
});

test('the context of a prepared step is typed', () => {
  const agent = createAgent({
    provider: scriptedProvider([]),
    instructions: (_items, { context }: StepInfo<{ readonly plan: string }>) => context.plan,
    prepareStep: ({ context }) => ({ instructions: context.plan }),
  });
  // @ts-expect-error: the context is required
  expect(() => agent.run('Go', {})).toBeTypeOf('function');
});
