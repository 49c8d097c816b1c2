import { type Cost, sessionId, type Usage } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import type { ModelInfo } from '@millrace/providers';
import { type ScriptedResponse, scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Limits } from '../contract/settings.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { call } from '../testing/model-script.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = sessionId('s');
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.number() }) },
  execute: async ({ at }) => `${at}`,
});

const dollars = (amount: string): Cost => ({ amount, currency: 'USD' });

/** A turn that calls a tool and has these costs. */
function turn(at: number, ...costs: readonly Cost[]): ScriptedResponse {
  return { content: { parts: [call(`c${at}`, 'look', { at })] }, usage: { costs } };
}

const endless = (...costs: readonly Cost[]) =>
  Array.from({ length: 9 }, (_, at) => turn(at, ...costs));

function agentOf(
  script: readonly ScriptedResponse[],
  maxCost: Cost,
  options: Partial<Limits> = {},
) {
  const provider = scriptedProvider(script);
  const limits = { maxCost, ...options };
  const retry = { baseDelayMs: 0 };
  const agent = createAgent({ provider, tools: [look], log: memoryLog(), limits, retry });
  return { agent, provider };
}

describe('limits of a run that another process continues', () => {
  const usage = { input: 90, output: 10, costs: [dollars('0.10')] };
  const script = Array.from({ length: 9 }, (_, at) => ({
    content: { parts: [call(`c${at}`, 'look', { at })] },
    usage,
  }));

  test.each([
    ['maxTokens', { maxTokens: 250 }],
    ['maxCost', { maxCost: dollars('0.25') }],
  ])('20: %s counts what the run used before the crash', async (_name, limits) => {
    const log = memoryLog();
    const create = () => {
      const provider = scriptedProvider(script);
      const known = { ...limits, allowUnknownPrices: true };
      return { provider, agent: createAgent({ provider, log, tools: [look], limits: known }) };
    };
    expect((await create().agent.run('Go', { session }).result).reason).toBe('limit');
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    const finished = records.filter(({ fact }) => fact?.type === 'turn_finished');
    expect(finished).toHaveLength(3);
    // The process died after the second turn.
    const into = sessionId('cut');
    await log.fork(session, { into, through: finished[1]?.offset ?? 0 });
    const { agent, provider } = create();
    const resumed = await agent.resume(into).result;
    expect([resumed.reason, provider.requests.length]).toEqual(['limit', 1]);
    // The next run has a budget of its own.
    const next = create();
    await next.agent.run('Again', { session: into }).result;
    expect(next.provider.requests).toHaveLength(3);
  });
});

describe('maxCost', () => {
  test.each([
    ['no cost', {}],
    ['a cost in another currency', { costs: [{ amount: '0.01', currency: 'EUR' }] }],
  ])('ends a run whose provider reports %s', async (_what, reported) => {
    const usage = { input: 100, output: 10, ...reported };
    const looks = { content: { parts: [toolCall('look')] }, usage };
    const options = { provider: scriptedProvider([looks, looks, 'Done.']), tools: [look] };
    const run = (limits: object) =>
      createAgent({ ...options, approve: () => 'allow', limits }).run('Look').result;
    const maxCost = { amount: '1.00', currency: 'USD' };
    expect((await run({ maxCost })).stop).toEqual({
      ...{ reason: 'limit', cause: 'no cost in USD was reported' },
    });
  });

  test('ends the run before the next turn, and is named in the stop', async () => {
    const { agent, provider } = agentOf(endless(dollars('0.20')), dollars('0.50'));
    const { stop, usage } = await agent.run('Go').result;
    expect(stop).toEqual({ reason: 'limit', cause: '0.50 USD' });
    expect(provider.requests).toHaveLength(3);
    expect(usage.costs).toEqual([dollars('0.60')]);
  });

  test('is exact to the last digit', async () => {
    // As binary fractions, 0.7 plus 0.1 is slightly less than 0.8.
    const script = [turn(0, dollars('0.7')), turn(1, dollars('0.1')), ...endless(dollars('1'))];
    const { agent, provider } = agentOf(script, dollars('0.8'));
    expect((await agent.run('Go').result).stop.reason).toBe('limit');
    expect(provider.requests).toHaveLength(2);
    const almost = agentOf([turn(0, dollars('0.4999999999')), ...endless()], dollars('0.5'));
    await almost.agent.run('Go').result;
    expect(almost.provider.requests.length).toBeGreaterThan(1);
  });

  test('counts only its own currency, and no unknown prices, if that is allowed', async () => {
    const allowed = { allowUnknownPrices: true };
    const script = endless({ amount: '100', currency: 'EUR' });
    const { agent, provider } = agentOf([...script.slice(0, 3), done], dollars('0.50'), allowed);
    expect((await agent.run('Go').result).stop.reason).toBe('stop');
    const silent = agentOf([...endless().slice(0, 3), done], dollars('0.50'), allowed);
    expect((await silent.agent.run('Go').result).stop.reason).toBe('stop');
    for (const one of [provider, silent.provider]) one.assertUsedUp();
  });

  test('counts the cost of superseded attempts', async () => {
    const failed: ScriptedResponse = {
      ...turn(0, dollars('0.40')),
      fault: { type: 'error', after: 1, error: 'overloaded' },
    };
    const { agent, provider } = agentOf([failed, turn(1, dollars('0.20'))], dollars('0.50'));
    expect((await agent.run('Go').result).stop).toEqual({ reason: 'limit', cause: '0.50 USD' });
    provider.assertUsedUp();
  });

  test('applies to one run: earlier runs do not count', async () => {
    const { agent, provider } = agentOf(
      [...endless(dollars('0.30')).slice(0, 2), priced],
      dollars('0.50'),
    );
    expect((await agent.run('Go', { session }).result).stop.reason).toBe('limit');
    expect((await agent.run('On', { session }).result).stop.reason).toBe('stop');
    provider.assertUsedUp();
  });

  describe('23.2: where no price is known', () => {
    const cost = dollars('1');
    const agentWith = (info: ModelInfo, limits: Partial<Limits> = {}) =>
      createAgent({
        provider: scriptedProvider(['Hi'], { id: 'vllm', model: 'qwen3', info }),
        limits: { maxCost: cost, ...limits },
      });

    test('is refused at the start, with the model and the way out', () => {
      const code = 'no_price';
      const place = { option: 'maxCost', provider: 'vllm', model: 'qwen3' };
      expect(() => agentWith({})).toThrow(expect.objectContaining({ code, place }));
      expect(() => agentWith({})).toThrow(/vllm\/qwen3.*allowUnknownPrices/s);
      const euros = { prices: { currency: 'EUR', input: '1', output: '1' } };
      expect(() => agentWith(euros)).toThrow(expect.objectContaining({ code, place }));
    });

    test('is refused if only a fallback has no price', () => {
      const provider = scriptedProvider([], { info: { prices: 'reported' } });
      const fallbacks = [scriptedProvider([], { id: 'vllm', model: 'qwen3', info: {} })];
      const made = () => createAgent({ provider, fallbacks, limits: { maxCost: cost } });
      expect(made).toThrow(expect.objectContaining({ code: 'no_price' }));
    });

    test('is accepted if the caller allows it, and with a known price', async () => {
      const run = agentWith({}, { allowUnknownPrices: true }).run('Go');
      expect((await run.result).stop.reason).toBe('stop');
      const prices = { input: '1', output: '1' };
      for (const known of [{ prices }, { prices: 'reported' }] as const)
        expect(() => agentWith(known)).not.toThrow();
    });
  });

  test('lets the current answer finish', async () => {
    const { agent } = agentOf([priced], dollars('0.01'));
    expect((await agent.run('Go').result).stop.reason).toBe('stop');
  });
});

const done: ScriptedResponse = { content: { parts: ['Done.'] } };
const priced: ScriptedResponse = {
  ...done,
  usage: { costs: [dollars('0.30')] } satisfies Partial<Usage>,
};

describe('invalid options are rejected at once', () => {
  const provider = scriptedProvider([]);
  const made = (options: Partial<AgentOptions>) => () => createAgent({ provider, ...options });
  const refused = (option: string) =>
    expect.objectContaining({ name: 'AgentError', code: 'bad_option', place: { option } });

  const counts = ['maxTurns', 'maxTokens', 'maxParallelTools', 'maxRepeats'] as const;
  const never = [0, -1, Number.NaN, Number.NEGATIVE_INFINITY];

  test.each(counts.flatMap((name) => never.map((value) => [name, value] as const)))(
    'limits.%s %d',
    (name, value) => {
      expect(made({ limits: { [name]: value } })).toThrow(refused(name));
    },
  );

  test.each(['', 'five', '0,50', '.5', '1e3', '+1', ' 1', 'NaN', 'Infinity', '$5'])(
    'limits.maxCost %j',
    (amount) => {
      expect(made({ limits: { maxCost: dollars(amount) } })).toThrow(refused('maxCost'));
    },
  );

  // Regression: only the format was checked.
  test('limits.maxCost below zero', () => {
    expect(made({ limits: { maxCost: dollars('-0.50') } })).toThrow(refused('maxCost'));
  });

  // Regression: the message was "maxCost undefined", and a missing currency turned the limit off.
  test.each([1, '1', { amount: 1, currency: 'USD' }, { amount: '1' }, null])(
    'limits.maxCost %j, with the form that it needs',
    (maxCost) => {
      const limits = { maxCost: maxCost as unknown as Cost };
      expect(made({ limits })).toThrow(refused('maxCost'));
      expect(made({ limits })).toThrow(
        `maxCost ${JSON.stringify(maxCost)}: it must be a cost such as { amount: '0.50', currency: 'USD' }`,
      );
    },
  );

  test.each([
    ['maxAttempts', 0],
    ['maxAttempts', Number.NaN],
    ['baseDelayMs', -1],
    ['baseDelayMs', Number.NaN],
    ['maxDelayMs', -1],
    ['toolGraceMs', Number.NaN],
  ])('retry.%s %d', (name, value) => {
    expect(made({ retry: { [name]: value } })).toThrow(refused(name));
  });

  test('the message names the option and its range', () => {
    expect(made({ limits: { maxParallelTools: 0 } })).toThrow('maxParallelTools 0');
    expect(made({ limits: { maxParallelTools: 0 } })).toThrow('at least 1');
    expect(made({ limits: { maxCost: dollars('five') } })).toThrow('maxCost {"amount":"five"');
  });

  test('the minimum and no limit at all are accepted', () => {
    const least = { maxTurns: 1, maxTokens: 1, maxParallelTools: 1, maxRepeats: 1 };
    const none = Number.POSITIVE_INFINITY;
    const most = { maxTurns: none, maxTokens: none, maxParallelTools: none, maxRepeats: none };
    for (const limits of [least, most]) expect(made({ limits })).not.toThrow();
    expect(made({ limits: { maxCost: dollars('0') } })).not.toThrow();
    expect(made({ limits: { maxCost: undefined } })).not.toThrow();
    const retry = { maxAttempts: 1, baseDelayMs: 0, maxDelayMs: 0, toolGraceMs: 0 };
    expect(made({ retry })).not.toThrow();
  });
});
