import {
  type AgentEvent,
  addUsage,
  noUsage,
  type Part,
  type SessionId,
  sessionId,
  type ToolCallId,
  type Usage,
  usageByAgent,
} from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import type { Run } from '../contract/run.ts';
import type { CheckedToolCall } from '../contract/tool.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import { eventsOf } from '../testing/read-log.ts';
import { subAgent } from './agent-tools.ts';
import { defineTool } from './define-tool.ts';

const session = sessionId('parent');
const calls = (...parts: readonly (Part | string)[]): ScriptEntry => ({ content: { parts } });
const used = (input: number, output: number, parts: readonly (Part | string)[] = ['Done.']) => ({
  content: { parts },
  usage: { input, output },
});

/** A tool that refunds an order, and the amounts that it refunded. */
function refunds() {
  const refunded: number[] = [];
  const tool = defineTool({
    name: 'refund',
    description: 'Refunds an order',
    input: z.object({ amount: z.number() }),
    execute: async ({ amount }) => {
      refunded.push(amount);
      return `Refunded ${amount}.`;
    },
  });
  return { tool, refunded };
}

const askForRefunds = ({ tool }: CheckedToolCall) =>
  tool.name === 'refund'
    ? ({ decision: 'ask', reason: 'It is money', rule: 'refund' } as const)
    : 'allow';

type Options = Partial<AgentOptions>;

/** A sub-agent that calls `refund` once per amount, in one turn, and then reports. */
function desk(log: Log, amounts: readonly number[], tool = refunds().tool, options: Options = {}) {
  const asks = amounts.map((amount, at) => call(`r${at}`, 'refund', { amount }));
  const provider = scriptedProvider([calls(...asks), 'I refunded it.']);
  return createAgent({
    ...{ name: 'desk', provider, tools: [tool], log, approve: askForRefunds },
    ...options,
  });
}

const asTool = (agent: Agent, name = 'help') => subAgent({ name, description: 'Helps', agent });

/** A caller that gives each of its tools one task, all in one turn. */
function caller(log: Log, agents: readonly Agent[], options: Options = {}) {
  const tools = agents.map((agent, at) => asTool(agent, `help${at}`));
  const tasks = tools.map(({ name }, at) => call(`t${at}`, name, { task: 'Help them' }));
  const provider = scriptedProvider([calls(...tasks), 'All done.']);
  const agent = createAgent({ name: 'boss', provider, tools, log, ...options });
  return { agent, provider };
}

test('23.12: an empty line separates the texts of a sub-agent between its calls', async () => {
  const log = memoryLog();
  const provider = scriptedProvider([
    { content: { parts: ['I look.', call('r0', 'refund', { amount: 1 })] } },
    'I refunded it.',
  ]);
  const agent = createAgent({ name: 'desk', provider, tools: [refunds().tool], log });
  const run = caller(log, [agent]).agent.run('Go', { session });
  const updates: string[] = [];
  for await (const event of run.events)
    if (event.type === 'tool_execution_update') updates.push(event.text);
  expect(updates.join('')).toBe('I look.\n\nI refunded it.');
});

type Asked = Extract<AgentEvent, { readonly type: 'approval_asked' }>;

/** Answers each question of a run, and returns the questions. */
async function answering(
  run: Run,
  answer: (id: ToolCallId, asked: Asked) => Promise<void> | undefined,
): Promise<readonly Asked[]> {
  const asked: Asked[] = [];
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked.push(event);
    await answer(event.toolCallId, event);
  }
  return asked;
}

const factsIn = async (log: Log, of: SessionId) =>
  (await log.read(of)).records.flatMap(({ fact }) => fact ?? []);

async function childrenOf(log: Log, of: SessionId): Promise<readonly SessionId[]> {
  const started = await factsIn(log, of);
  return started.flatMap((fact) =>
    fact.type === 'tool_execution_started' ? (fact.child ?? []) : [],
  );
}

describe('20.4: a question of a sub-agent', () => {
  test('is an event of the caller, which shows the call, and the caller’s run answers it', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const { agent } = caller(log, [desk(log, [5], tool)]);
    const run = agent.run('Refund order 7.', { session });
    const [asked, ...more] = await answering(run, (id) => run.approve(id, { by: 'Ada' }));
    expect(more).toEqual([]);
    const [child = session] = await childrenOf(log, session);
    expect(asked).toMatchObject({
      ...{ session, name: 'refund', reason: 'It is money', rule: 'help0: desk: refund' },
      from: { toolCallId: 't0', agents: ['desk'], session: child, input: { amount: 5 } },
    });
    expect(refunded).toEqual([5]);
    expect(await run.result).toMatchObject({ stop: { reason: 'stop' }, text: 'All done.' });
    const answers = (await factsIn(log, child)).filter(({ type }) => type === 'approval_answered');
    expect(answers).toMatchObject([{ toolCallId: 'r0', decision: 'allow', by: 'Ada' }]);
    expect((await snapshot(log, session)).asked).toEqual([]);
  });

  test('can be denied, and the sub-agent gets the reason', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const helper = desk(log, [5], tool);
    const run = caller(log, [helper]).agent.run('Refund order 7.', { session });
    await answering(run, (id) => run.deny(id, { reason: 'too late' }));
    expect(refunded).toEqual([]);
    const [child = session] = await childrenOf(log, session);
    const rejected = (await factsIn(log, child)).find(({ type }) => type === 'tool_call_rejected');
    expect(rejected).toMatchObject({ message: 'It was not allowed: too late' });
  });

  test('can be answered with changed arguments', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const run = caller(log, [desk(log, [5], tool)]).agent.run('Refund order 7.', { session });
    await answering(run, (id) => run.approve(id, { input: { amount: 3 } }));
    expect(refunded).toEqual([3]);
  });

  test('reaches the top from two levels below', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const middle = caller(log, [desk(log, [5], tool)], { name: 'lead' }).agent;
    const run = caller(log, [middle]).agent.run('Refund order 7.', { session });
    const [asked] = await answering(run, (id) => run.approve(id));
    expect(asked?.from).toMatchObject({ toolCallId: 't0', agents: ['lead', 'desk'] });
    expect(refunded).toEqual([5]);
    expect((await run.result).text).toBe('All done.');
    for (const { session: one } of await log.list())
      expect((await snapshot(log, one)).asked).toEqual([]);
  });

  test('is one of several at once, and each gets its own answer', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const agents = [desk(log, [1, 2], tool), desk(log, [3], tool, { name: 'other' })];
    const run = caller(log, agents).agent.run('Refund them.', { session });
    const all = Promise.withResolvers<void>();
    const waiting: Asked[] = [];
    const asked = answering(run, (_id, one) => {
      waiting.push(one);
      if (waiting.length === 3) all.resolve();
      return undefined;
    });
    await all.promise;
    expect(new Set(waiting.map(({ toolCallId: id }) => id)).size).toBe(3);
    expect((await snapshot(log, session)).asked).toHaveLength(3);
    for (const { toolCallId: id, from } of waiting.toReversed()) {
      const isTwo = JSON.stringify(from?.input) === '{"amount":2}';
      await (isTwo ? run.deny(id) : run.approve(id));
    }
    await asked;
    expect(refunded.toSorted()).toEqual([1, 3]);
  });

  test('ends with an abort of the caller, and no session is left with work', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const middle = caller(log, [desk(log, [5], tool)], { name: 'lead' }).agent;
    const run = caller(log, [middle]).agent.run('Refund order 7.', { session });
    await answering(run, () => run.abort('enough'));
    expect((await run.result).stop.reason).toBe('aborted');
    expect(refunded).toEqual([]);
    const sessions = await log.list();
    expect(sessions).toHaveLength(3);
    for (const { session: one, hasWork } of sessions) {
      expect(hasWork).toBe(false);
      expect((await snapshot(log, one)).asked).toEqual([]);
      expect((await factsIn(log, one)).at(-1)).toMatchObject({ stop: { reason: 'aborted' } });
    }
  });

  test('that is answered for the session is not asked again of the same agent', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const agents = [desk(log, [1, 2], tool), desk(log, [3], tool, { name: 'other' })];
    const run = caller(log, agents).agent.run('Refund them.', { session });
    const seen: (readonly string[] | undefined)[] = [];
    await answering(run, (id, { from }) => {
      const isAnswered = seen.some((agents) => agents?.join() === from?.agents.join());
      seen.push(from?.agents);
      // A second answer has no effect: the first one covers the rule.
      return isAnswered ? undefined : run.approve(id, { until: 'session' });
    });
    expect(refunded.toSorted()).toEqual([1, 2, 3]);
    expect([...(await snapshot(log, session)).asked]).toEqual([]);
  });

  test('that is answered in the sub-agent’s own session is answered for the caller too', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const run = caller(log, [desk(log, [5], tool)]).agent.run('Refund order 7.', { session });
    await answering(run, async (_id, { from }) => {
      const command = { type: 'approve', toolCallId: 'r0', by: 'Eve' };
      await log.submit(from?.session ?? session, command, 'key');
    });
    expect(refunded).toEqual([5]);
    const answers = (await factsIn(log, session)).filter((one) => one.type === 'approval_answered');
    expect(answers).toMatchObject([{ decision: 'allow', by: 'Eve' }]);
  });

  test('parks the caller, and an answer resumes both', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const middle = caller(log, [desk(log, [5], tool)], { name: 'lead' }).agent;
    const { agent } = caller(log, [middle], { whileAsking: 'park' });
    const run = agent.run('Refund order 7.', { session });
    const [asked] = await answering(run, () => undefined);
    expect((await run.result).stop).toEqual({ reason: 'parked', cause: 'approval' });
    for (const { lease } of await log.list()) expect(lease).toBeUndefined();
    // Without an answer, it parks again and asks nothing twice.
    expect((await agent.resume(session).result).stop.reason).toBe('parked');
    const command = { type: 'approve', toolCallId: asked?.toolCallId ?? '' };
    await log.submit(session, command, 'answer');
    expect(await agent.resume(session).result).toMatchObject({ text: 'All done.' });
    expect(refunded).toEqual([5]);
    const facts = await factsIn(log, session);
    expect(facts.filter(({ type }) => type === 'approval_asked')).toHaveLength(1);
    expect(await log.list()).toHaveLength(3);
  });

  test('that is parked ends with an abort, in every session', async () => {
    const log = memoryLog();
    const middle = caller(log, [desk(log, [5])], { name: 'lead' }).agent;
    const { agent } = caller(log, [middle], { whileAsking: 'park' });
    await agent.run('Refund order 7.', { session }).result;
    const stopped = await agent.resume(session, { signal: AbortSignal.abort('enough') }).result;
    expect(stopped.stop.reason).toBe('aborted');
    for (const { session: one, hasWork } of await log.list()) {
      expect(hasWork).toBe(false);
      expect((await snapshot(log, one)).asked).toEqual([]);
    }
  });

  test('survives a process that leaves: the next one continues the same sub-agent', async () => {
    const log = memoryLog();
    const { tool, refunded } = refunds();
    const middle = caller(log, [desk(log, [5], tool)], { name: 'lead' }).agent;
    const { agent } = caller(log, [middle]);
    const leave = new AbortController();
    const first = agent.run('Refund order 7.', { session, leave: leave.signal });
    await answering(first, async () => leave.abort());
    expect((await first.result).stop.cause).toBe('left');
    const [child] = await childrenOf(log, session);
    const [open] = (await snapshot(log, session)).asked;
    const second = agent.resume(session);
    await second.approve(open?.toolCallId ?? expect.fail('nothing is asked'));
    expect(await second.result).toMatchObject({ stop: { reason: 'stop' }, text: 'All done.' });
    expect(refunded).toEqual([5]);
    expect(await log.list()).toHaveLength(3);
    expect(new Set(await childrenOf(log, session))).toEqual(new Set([child]));
    const facts = await factsIn(log, session);
    expect(facts.filter(({ type }) => type === 'approval_asked')).toHaveLength(1);
  });

  test.for(['parked', 'running'] as const)(
    '18.1731: attack: a copy of a session continues the %s sub-agent of the original',
    async (kind) => {
      const log = memoryLog();
      const { tool, refunded } = refunds();
      const middle = () => caller(log, [desk(log, [5], tool)], { name: 'lead' }).agent;
      const { agent } = caller(log, [middle()], { whileAsking: 'park' });
      await agent.run('Refund order 7.', { session }).result;
      const before = new Map((await log.list()).map((info) => [info.session, info.through]));
      const { records } = await log.read(session);
      const { offset: end = 0 } =
        kind === 'parked'
          ? (records.at(-1) ?? {})
          : (records.find(({ fact }) => fact?.type === 'tool_execution_started') ?? {});
      const into = sessionId('copy');
      await log.fork(session, { into, through: end });
      const { agent: other } = caller(log, [middle()], { whileAsking: 'park' });
      expect((await other.resume(into).result).stop.reason).toBe('parked');
      const [asked, ...more] = (await snapshot(log, into)).asked;
      expect(more).toEqual([]);
      const answer = { type: 'approve', toolCallId: asked?.toolCallId ?? '' };
      await log.submit(into, answer, 'answer');
      expect(await other.resume(into).result).toMatchObject({ text: 'All done.' });
      expect(refunded).toEqual([5]);
      for (const [id, through] of before) expect((await log.info(id))?.through).toBe(through);
      expect((await other.replay(into)).divergence).toBeUndefined();
    },
  );

  test('of a recorded session is replayed without a divergence', async () => {
    for (const whileAsking of ['wait', 'park'] as const) {
      const log = memoryLog();
      const middle = caller(log, [desk(log, [5, 6])], { name: 'lead' }).agent;
      const { agent } = caller(log, [middle, desk(log, [7])], { whileAsking });
      const run = agent.run('Refund them.', { session });
      const asked = await answering(run, (id) =>
        whileAsking === 'wait' ? run.approve(id) : undefined,
      );
      expect(asked).toHaveLength(3);
      if (whileAsking === 'park') {
        for (const { toolCallId: id } of asked)
          await log.submit(session, { type: 'approve', toolCallId: id }, id);
        expect((await agent.resume(session).result).text).toBe('All done.');
      }
      const replayed = await agent.replay(session);
      expect(replayed.divergence).toBeUndefined();
    }
  });
});

test('20.5: a sub-agent with an output schema gives its value to the caller', async () => {
  const log = memoryLog();
  const value = { city: 'Rome', degrees: 21 };
  const provider = scriptedProvider([calls({ kind: 'structured', value })]);
  const output = z.object({ city: z.string(), degrees: z.number() });
  const { agent, provider: asking } = caller(log, [createAgent({ provider, output, log })]);
  const { items } = await agent.run('How warm is it?').result;
  const [result] = items.flatMap(({ parts }) => parts.filter((one) => one.kind === 'tool_result'));
  expect(result).toMatchObject({ value, text: JSON.stringify(value), isError: false });
  expect(JSON.stringify(asking.requests[1]?.request)).toContain('degrees');
});

describe('20.6: usage of sub-agents', () => {
  const tokens = ({ input, output }: Usage) => input + output;

  /** A sub-agent that takes this many turns of 1,000 tokens each. */
  function busy(log: Log, turns: number, options: Options = {}) {
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      input: z.object({ at: z.number() }),
      execute: async () => 'Nothing.',
    });
    const script = Array.from({ length: turns - 1 }, (_, at) =>
      used(900, 100, [call(`l${at}`, 'look', { at })]),
    );
    const provider = scriptedProvider([...script, used(900, 100)]);
    return createAgent({ name: 'busy', provider, tools: [look], log, ...options });
  }

  function boss(log: Log, agents: readonly Agent[], options: Options = {}) {
    const tools = agents.map((agent, at) => asTool(agent, `help${at}`));
    const tasks = tools.map(({ name }, at) => call(`t${at}`, name, { task: 'Look' }));
    const provider = scriptedProvider([used(400, 100, tasks), used(400, 100)]);
    return createAgent({ name: 'boss', provider, tools, log, ...options });
  }

  test('is in the result, in the totals of the log, and by agent', async () => {
    const log = memoryLog();
    const middle = boss(log, [busy(log, 2)], { name: 'lead' });
    const { usage, usageByAgent: shares } = await boss(log, [middle, busy(log, 3)]).run('Go', {
      session,
    }).result;
    expect(tokens(usage)).toBe(1000 + 1000 + 2000 + 3000);
    const expected = [
      { agent: undefined, attempts: 2, tokens: 1000 },
      { agent: 'lead', attempts: 2, tokens: 1000 },
      { agent: 'busy', attempts: 5, tokens: 5000 },
    ];
    const inOrder = (all: typeof shares) =>
      all
        .map(({ agent, attempts, usage: own }) => ({ agent, attempts, tokens: tokens(own) }))
        .toSorted((one, other) => (one.agent ?? '').localeCompare(other.agent ?? ''));
    const sorted = expected.toSorted((a, b) => (a.agent ?? '').localeCompare(b.agent ?? ''));
    expect(inOrder(shares)).toEqual(sorted);
    expect(inOrder(usageByAgent(await snapshot(log, session)))).toEqual(sorted);
    expect(shares.reduce((sum, one) => addUsage(sum, one.usage), noUsage)).toEqual(usage);
  });

  test('counts toward maxTokens while the sub-agents run', async () => {
    const log = memoryLog();
    const agents = [busy(log, 20), busy(log, 20)];
    const { usage, stop } = await boss(log, agents, { limits: { maxTokens: 5000 } }).run('Go')
      .result;
    expect(stop).toEqual({ reason: 'limit', cause: '5000 tokens' });
    // Both may have been in a request when the limit was reached.
    expect(tokens(usage)).toBeGreaterThanOrEqual(5000);
    expect(tokens(usage)).toBeLessThan(7000);
  });

  test('counts toward the limit of a caller two levels above', async () => {
    const log = memoryLog();
    const middle = boss(log, [busy(log, 20)], { name: 'lead' });
    const limits = { maxTokens: 5000 };
    const { usage, stop } = await boss(log, [middle], { limits }).run('Go').result;
    expect(stop.reason).toBe('limit');
    expect(tokens(usage)).toBeLessThan(6500);
  });

  test('counts toward maxCost', async () => {
    const log = memoryLog();
    const costs = [{ amount: '0.30', currency: 'USD' }];
    const info = { prices: 'reported' } as const;
    const spending = (parts: readonly Part[]) => ({
      content: { parts: parts.length === 0 ? ['Done.'] : parts },
      usage: { costs },
    });
    const tools = [refunds().tool];
    const script = [1, 2, 3, 4, 5, 6].map((amount) =>
      spending([call(`r${amount}`, 'refund', { amount })]),
    );
    const helper = createAgent({ provider: scriptedProvider(script, { info }), tools, log });
    const provider = scriptedProvider([spending([call('t', 'help', { task: 'Go' })])], { info });
    const limits = { maxCost: { amount: '1.00', currency: 'USD' } };
    const agent = createAgent({ provider, tools: [asTool(helper)], log, limits });
    const { usage, stop } = await agent.run('Go').result;
    expect(stop).toEqual({ reason: 'limit', cause: '1.00 USD' });
    expect(usage.costs).toEqual([{ amount: '1.20', currency: 'USD' }]);
  });

  test('20.14: a sub-agent without a known price does not run under maxCost', async () => {
    const log = memoryLog();
    const helper = scriptedProvider(['Hi'], { id: 'vllm', model: 'qwen3', info: {} });
    const info = { prices: 'reported' } as const;
    const maxCost = { amount: '1.00', currency: 'USD' };
    for (const allowUnknownPrices of [false, true]) {
      const script = [calls(call('t', 'help', { task: 'Go' })), 'All done.'];
      const agent = createAgent({
        provider: scriptedProvider(script, { info }),
        tools: [asTool(createAgent({ provider: helper, log }))],
        log,
        limits: { maxCost, allowUnknownPrices },
      });
      const { items } = await agent.run('Go').result;
      const results = items.flatMap(({ parts }) => parts.filter((p) => p.kind === 'tool_result'));
      const refused = { isError: true, text: expect.stringContaining('vllm/qwen3 in USD is') };
      expect(results).toMatchObject([allowUnknownPrices ? { text: 'Hi' } : refused]);
    }
    expect(helper.requests).toHaveLength(1);
  });

  test('of a run that parks is counted once over both runs', async () => {
    const log = memoryLog();
    const look = refunds().tool;
    const script = [used(900, 100, [call('r', 'refund', { amount: 1 })]), used(900, 100)];
    const provider = scriptedProvider(script);
    const helper = createAgent({ provider, tools: [look], log, approve: askForRefunds });
    const agent = boss(log, [helper], { whileAsking: 'park' });
    const run = agent.run('Go', { session });
    const [asked] = await answering(run, () => undefined);
    expect(tokens((await run.result).usage)).toBe(1500);
    await log.submit(session, { type: 'approve', toolCallId: asked?.toolCallId ?? '' }, 'k');
    expect(tokens((await agent.resume(session).result).usage)).toBe(1500);
    expect(tokens((await eventsUsage(log)).usage)).toBe(3000);
  });

  const eventsUsage = async (log: Log) => {
    const [own, child] = usageByAgent(await snapshot(log, session));
    return { usage: addUsage(own?.usage ?? noUsage, child?.usage ?? noUsage) };
  };
});

describe('20.10: approving with changed arguments', () => {
  test('tells the model what ran, and the transcript has both', async () => {
    const { tool, refunded } = refunds();
    const asks = call('r', 'refund', { amount: 500 });
    const provider = scriptedProvider([calls(asks), 'I see.']);
    const log = memoryLog();
    const agent = createAgent({ provider, tools: [tool], approve: () => 'ask', log });
    const run = agent.run('Refund it.', { session });
    await answering(run, (id) => run.approve(id, { input: { amount: 50 } }));
    const { items } = await run.result;
    expect(refunded).toEqual([50]);
    const parts = items.flatMap((item): readonly Part[] => item.parts);
    expect(parts.find(({ kind }) => kind === 'tool_call')).toMatchObject({
      input: { amount: 500 },
    });
    expect(parts.find(({ kind }) => kind === 'tool_result')).toMatchObject({
      text: 'Refunded 50.',
      metadata: { changedInput: { amount: 50 } },
    });
    const sent = provider.requests[1]?.request.items.flatMap((item): readonly Part[] => item.parts);
    // The call stays as the model made it: providers compare it with what they answered.
    expect(sent?.find(({ kind }) => kind === 'tool_call')).toMatchObject({
      arguments: '{"amount":500}',
    });
    const result = sent?.find((part) => part.kind === 'tool_result');
    expect(result?.text).toMatch(/changed the arguments.*\{"amount":50\}.*Refunded 50\./s);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('tells it too if another process sent changed arguments that could not run', async () => {
    const { tool } = refunds();
    const provider = scriptedProvider([calls(call('r', 'refund', { amount: 500 })), 'I see.']);
    const log = memoryLog();
    const agent = createAgent({ provider, log, tools: [tool], approve: () => 'ask' });
    const run = agent.run('Refund it.');
    const input = { amount: 'all' };
    await answering(run, async (toolCallId) => {
      await submitCommand(log, run.session, { type: 'approve', toolCallId, input });
    });
    await run.result;
    const sent = provider.requests[1]?.request.items.flatMap((item): readonly Part[] => item.parts);
    const result = sent?.find((part) => part.kind === 'tool_result');
    expect(result?.text).toMatch(/changed the arguments.*\{"amount":"all"\}.*do not fit/s);
  });

  test('says nothing if the arguments stay', async () => {
    const { tool } = refunds();
    const provider = scriptedProvider([calls(call('r', 'refund', { amount: 500 })), 'I see.']);
    const agent = createAgent({ provider, tools: [tool], approve: () => 'ask' });
    const run = agent.run('Refund it.');
    await answering(run, (id) => run.approve(id));
    await run.result;
    expect(JSON.stringify(provider.requests[1]?.request)).not.toContain('changed');
    expect((await eventsOf(run)).length).toBeGreaterThan(0);
  });
});
