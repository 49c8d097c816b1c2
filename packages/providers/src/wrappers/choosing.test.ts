import { itemId } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ModelInfo } from '../contract/model-info.ts';
import type { Provider } from '../contract/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import {
  errorReply,
  newGate,
  type ScriptedServer,
  startScriptedServer,
  streamReply,
} from '../scripted-server/index.ts';
import { finishEvent, sseText, textEvent, usageEvent } from '../testing/chat-events.ts';
import { openStream } from '../testing/open-stream.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { withFallback } from './fallback.ts';
import { hedgeRequests } from './hedge.ts';

// Wrappers that choose between requests, against real HTTP servers.

let first: ScriptedServer;
let second: ScriptedServer;
let clock: VirtualClock;
beforeEach(async () => {
  clock = new VirtualClock();
  [first, second] = await Promise.all([startScriptedServer(), startScriptedServer()]);
});
afterEach(async () => {
  await Promise.all([first.close(), second.close()]);
  expect(clock.pending).toBe(0);
});

const chat = (server: ScriptedServer, model: string): Provider =>
  openaiChat({ model, baseUrl: server.url, apiKey: 'nobody', clock });
const both = () => [chat(first, 'm1'), chat(second, 'm2')] as const;
const request = {
  items: [{ id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'Weather?' }] }],
} as const;
const answer = (text: string) => streamReply([sseText(textEvent(text), finishEvent(), usageEvent)]);
const overloaded = () => errorReply('openai-chat', 503, { type: 'overloaded', message: 'busy' });
const stalled = () => streamReply([{ type: 'stall' }]);

describe('19: a fallback', () => {
  test('is not asked while the first provider answers', async () => {
    first.reply(answer('Sunny'));
    const completion = await withFallback(both(), { clock }).complete(request);
    expect(completion).toMatchObject({ text: 'Sunny', usage: { input: 11, output: 7 } });
    expect(completion.details?.answeredBy).toBeUndefined();
    expect(second.requests).toHaveLength(0);
  });

  test('answers after an error of the rules, and the failed request is accounted', async () => {
    first.reply(overloaded());
    second.reply(answer('Sunny'));
    const completion = await withFallback(both(), { clock }).complete(request);
    expect(completion.error).toBeUndefined();
    expect(completion).toMatchObject({
      text: 'Sunny',
      usage: { input: 11, output: 7 },
      details: {
        answeredBy: { provider: both()[1].id, model: 'm2' },
        otherRequests: [{ provider: both()[0].id, model: 'm1', outcome: 'overloaded' }],
      },
    });
  });

  test('does not answer after an error that is not in the rules', async () => {
    first.reply(overloaded());
    const completion = await withFallback(both(), { on: ['auth'], clock }).complete(request);
    expect(completion.error).toMatchObject({ kind: 'overloaded' });
    expect(second.requests).toHaveLength(0);
  });

  test('answers if the first delta is late, and the server sees the abort of the first request', async () => {
    first.reply(stalled());
    second.reply(answer('Sunny'));
    const completing = withFallback(both(), { firstDeltaMs: 5000, clock }).complete(request);
    const slow = await first.nextRequest();
    clock.advance(5000);
    const completion = await completing;
    expect(await slow.closed).toBe('client');
    expect(completion).toMatchObject({
      text: 'Sunny',
      details: { otherRequests: [{ model: 'm1', outcome: 'slow', usage: { estimated: true } }] },
    });
    const [other] = completion.details?.otherRequests ?? [];
    expect(other?.usage.input).toBeGreaterThan(0);
    expect(completion.usage.input).toBe(11 + (other?.usage.input ?? 0));
  });

  test('does not replace an answer that has begun', async () => {
    const gate = newGate();
    first.reply(
      streamReply([sseText(textEvent('Sun')), { type: 'wait', for: gate }, { type: 'cut' }]),
    );
    const stream = openStream(
      withFallback(both(), { firstDeltaMs: 5000, clock }),
      undefined,
      request,
    );
    expect((await stream.next())?.deltas.length).toBeGreaterThan(0);
    clock.advance(5000);
    gate.open();
    const rest = await stream.rest();
    expect(rest.at(-1)?.end?.error?.kind).toMatch(/truncated_stream|network/);
    expect(second.requests).toHaveLength(0);
  });

  test('of the last provider has no time limit, and its error is the result', async () => {
    first.reply(overloaded());
    const gate = newGate();
    const late = overloaded();
    second.reply({ ...late, before: [{ type: 'wait', for: gate }] });
    const completing = withFallback(both(), { firstDeltaMs: 10, clock }).complete(request);
    await gate.reached;
    clock.advance(10);
    gate.open();
    const completion = await completing;
    expect(completion.error).toMatchObject({ kind: 'overloaded' });
    expect(completion.details?.otherRequests).toHaveLength(1);
  });

  test('is not asked after an abort', async () => {
    first.reply(stalled());
    const controller = new AbortController();
    const options = { on: ['aborted', 'network'] as const, clock };
    const completing = withFallback(both(), options).complete(request, {
      signal: controller.signal,
    });
    const asked = await first.nextRequest();
    controller.abort();
    expect((await completing).error?.kind).toBe('aborted');
    expect(await asked.closed).toBe('client');
    expect(second.requests).toHaveLength(0);
  });

  test('refuses wrong options', () => {
    expect(() => withFallback([])).toThrow('the list of providers is empty');
    const [one] = both();
    expect(() => withFallback(one as never)).toThrow('pass the providers as a list');
    expect(() => withFallback(both(), { firstDeltaMs: 0 })).toThrow('firstDeltaMs is 0');
    expect(() => withFallback(both(), { firstDeltaMS: 1 } as object)).toThrow('Use firstDeltaMs');
  });
});

describe('19: a hedged request', () => {
  const hedged = (maxRequests = 2) => hedgeRequests(both(), { afterMs: 3000, maxRequests, clock });

  test('is sent once if the answer begins in time', async () => {
    first.reply(answer('Sunny'));
    expect((await hedged().complete(request)).text).toBe('Sunny');
    expect(second.requests).toHaveLength(0);
  });

  test('is sent again if the answer is late; the loser is aborted at its server and accounted', async () => {
    first.reply(stalled());
    second.reply(answer('Sunny'));
    const completing = hedged().complete(request);
    const slow = await first.nextRequest();
    clock.advance(3000);
    const completion = await completing;
    expect(await slow.closed).toBe('client');
    const [loser] = completion.details?.otherRequests ?? [];
    expect(loser).toMatchObject({ model: 'm1', outcome: 'lost', usage: { estimated: true } });
    expect(completion).toMatchObject({ text: 'Sunny', details: { answeredBy: { model: 'm2' } } });
    expect(completion.usage).toMatchObject({
      input: 11 + (loser?.usage.input ?? 0),
      output: 7,
      estimated: true,
    });
  });

  test('uses the first answer if that begins first after all', async () => {
    const gate = newGate();
    first.reply({ ...answer('Sunny'), before: [{ type: 'wait', for: gate }] });
    second.reply(stalled());
    const completing = hedged().complete(request);
    await gate.reached;
    clock.advance(3000);
    const late = await second.nextRequest();
    gate.open();
    const completion = await completing;
    expect(await late.closed).toBe('client');
    expect(completion).toMatchObject({
      text: 'Sunny',
      details: { otherRequests: [{ model: 'm2', outcome: 'lost' }] },
    });
    expect(completion.details?.answeredBy).toBeUndefined();
  });

  test('that fails leaves the answer to the other, and is accounted', async () => {
    const gate = newGate();
    first.reply({ ...answer('Sunny'), before: [{ type: 'wait', for: gate }] });
    second.reply(overloaded());
    const completing = hedged().complete(request);
    await gate.reached;
    clock.advance(3000);
    await second.nextRequest();
    gate.open();
    const completion = await completing;
    expect(completion.text).toBe('Sunny');
    expect(completion.details?.otherRequests).toMatchObject([{ model: 'm2' }]);
  });

  test('whose only request fails has that error', async () => {
    first.reply(overloaded());
    expect((await hedged().complete(request)).error).toMatchObject({ kind: 'overloaded' });
  });

  test('has at most the given number of requests, which take the providers in turn', async () => {
    first.reply(stalled(), stalled());
    second.reply(stalled());
    const controller = new AbortController();
    const completing = hedged(3).complete(request, { signal: controller.signal });
    await first.nextRequest();
    clock.advance(3000);
    await second.nextRequest();
    clock.advance(3000);
    await first.nextRequest();
    clock.advance(30_000);
    expect([first.requests.length, second.requests.length]).toEqual([2, 1]);
    controller.abort();
    const completion = await completing;
    expect(completion.error?.kind).toBe('aborted');
    expect(completion.details?.otherRequests).toHaveLength(2);
  });

  test('is aborted everywhere if the reader leaves', async () => {
    first.reply(stalled());
    second.reply(streamReply([sseText(textEvent('Sun')), { type: 'stall' }]));
    const stream = openStream(hedged(), undefined, request);
    const step = stream.next();
    const slow = await first.nextRequest();
    clock.advance(3000);
    const fast = await second.nextRequest();
    expect((await step)?.deltas.length).toBeGreaterThan(0);
    await stream.close();
    expect(await Promise.all([slow.closed, fast.closed])).toEqual(['client', 'client']);
  });

  test('refuses wrong options', () => {
    expect(() => hedgeRequests([], { afterMs: 1 })).toThrow('the list of providers is empty');
    expect(() => hedgeRequests(both(), { afterMs: 0 })).toThrow('afterMs is missing');
    expect(() => hedgeRequests(both(), { afterMs: 1, after: 2 } as never)).toThrow(
      'no option after',
    );
  });
});

// Regression: maxCost of an agent was accepted, and answers of the second provider were not counted.
test.each([
  ['withFallback', withFallback],
  ['hedgeRequests', (list: readonly Provider[]) => hedgeRequests(list, { afterMs: 1 })],
] as const)(
  '%s has a price only if all of its providers have one, in one currency',
  (_, choose) => {
    const prices = { input: '1', output: '2' };
    const provider = (info: ModelInfo) =>
      openaiChat({ model: 'm', baseUrl: first.url, apiKey: 'nobody', clock, info });
    const known = provider({ contextTokens: 8192, prices });
    expect(choose([known, provider({ prices })]).info?.prices).toEqual(prices);
    expect(choose([known, provider({ prices: 'reported' })]).info?.prices).toEqual(prices);
    for (const other of [{}, { prices: { ...prices, currency: 'EUR' } }])
      expect(choose([known, provider(other)]).info).toEqual({ contextTokens: 8192 });
  },
);
