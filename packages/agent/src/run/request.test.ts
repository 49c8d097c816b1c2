import { type Item, type LogRecord, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import type { ModelRequest, Provider, ProviderErrorKind } from '@millrace/providers';
import {
  type ScriptEntry,
  type ScriptedProvider,
  type ScriptedResponse,
  scriptedProvider,
} from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openaiChat } from '../../../providers/src/openai-chat/provider.ts';
import { fetchOf } from '../../../providers/src/testing/fetch-of.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { call } from '../testing/model-script.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = sessionId('s');
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
  execute: async ({ at }) => `${at} is there`,
});

const thinks = (id: string): ScriptedResponse => ({
  content: {
    parts: [
      { kind: 'reasoning', form: 'full', text: `I think of ${id}.`, signature: 'signed' },
      call(id, 'look', { at: id }),
    ],
  },
});
const fails = (error: ProviderErrorKind, after = 0): ScriptedResponse => ({
  ...{ content: { parts: ['never'] }, fault: { type: 'error', after, error } },
});

const partKinds = ({ items }: ModelRequest) =>
  items.flatMap(({ parts }: Item) => parts.map(({ kind }) => kind));
const thoughtsIn = (provider: ScriptedProvider) =>
  provider.requests.map(
    ({ request }) => partKinds(request).filter((kind) => kind === 'reasoning').length,
  );

async function run(provider: Provider, options: Partial<AgentOptions> = {}) {
  const log = options.log ?? memoryLog();
  const agent = createAgent({
    tools: [look],
    retry: { baseDelayMs: 0 },
    ...options,
    provider,
    log,
  });
  const result = await agent.run('Look around', { session }).result;
  const { records } = await log.read(session);
  expect(findLogProblems(session, records)).toEqual([]);
  return { agent, records, ...result };
}

const facts = (records: readonly LogRecord[], type: string) =>
  records.flatMap(({ fact }) => (fact?.type === type ? fact : []));

describe('retries', () => {
  const tries = async (kind: ProviderErrorKind, retry: AgentOptions['retry']) => {
    const provider = scriptedProvider(Array.from({ length: 20 }, () => fails(kind)));
    const { stop } = await run(provider, { retry: { baseDelayMs: 0, ...retry } });
    expect(stop).toEqual({ reason: 'error', cause: kind });
    return provider.requests.length;
  };

  test('may be more or fewer for some kinds of errors', async () => {
    const retry = { maxAttempts: 3, attemptsFor: { network: 6, server: 1, auth: 5 } };
    expect(await tries('network', retry)).toBe(6);
    expect(await tries('server', retry)).toBe(1);
    expect(await tries('overloaded', retry)).toBe(3);
    expect(await tries('auth', retry)).toBe(1);
  });

  test('end if the provider asks for a longer delay, which the error mentions', async () => {
    const init = { status: 429, headers: { 'retry-after': '3600' } };
    const { fetch, requests } = fetchOf(['{"error":{"message":"Slow down"}}'], init);
    const { error } = await run(openaiChat({ model: 'm', apiKey: 'k', fetch }));
    expect(error).toMatchObject({ code: 'rate_limit' });
    expect(error?.message).toMatch(/\(it asks to wait 3600 s\)$/);
    expect(requests).toHaveLength(1);
  });

  test('of an invalid number are rejected', () => {
    const retry = { attemptsFor: { network: 0 } };
    expect(() => createAgent({ provider: scriptedProvider([]), retry })).toThrow(/attemptsFor/);
  });
});

describe('a history that is refused', () => {
  test('is sent once more without the reasoning', async () => {
    const provider = scriptedProvider([
      thinks('a'),
      thinks('b'),
      fails('history_rejected'),
      'Both.',
    ]);
    const { text, stop, records } = await run(provider);
    expect([text, stop.reason]).toEqual(['Both.', 'stop']);
    expect(thoughtsIn(provider)).toEqual([0, 1, 2, 0]);
    const last = provider.requests[3]?.request;
    expect(last && partKinds(last)).toEqual([
      ...['text', 'tool_call', 'tool_result', 'tool_call', 'tool_result'],
    ]);
    expect(facts(records, 'attempt_superseded')).toMatchObject([{ reason: 'history_rejected' }]);
  });

  test('stays unchanged in the transcript', async () => {
    const provider = scriptedProvider([thinks('a'), fails('history_rejected'), 'It is there.']);
    const { items } = await run(provider);
    expect(items[0]?.parts.map(({ kind }) => kind)).toEqual(['reasoning', 'tool_call']);
  });

  test('is not sent a third time', async () => {
    const refused = fails('history_rejected');
    const provider = scriptedProvider([thinks('a'), refused, refused, 'No.']);
    const { stop, error } = await run(provider);
    expect(stop).toEqual({ reason: 'error', cause: 'history_rejected' });
    expect(error?.code).toBe('history_rejected');
    expect(provider.requests).toHaveLength(3);
  });

  test('is sent without that reasoning in later turns too, so that the cached prefix stays', async () => {
    const script = [thinks('a'), fails('history_rejected'), thinks('b'), thinks('c'), 'All.'];
    const provider = scriptedProvider(script);
    expect((await run(provider)).text).toBe('All.');
    expect(thoughtsIn(provider)).toEqual([0, 1, 0, 1, 2]);
  });

  test('loses newer reasoning too if that is refused in a later turn', async () => {
    const refused = fails('history_rejected');
    const script = [thinks('a'), refused, thinks('b'), refused, 'Both.'];
    const provider = scriptedProvider(script);
    expect((await run(provider)).text).toBe('Both.');
    expect(thoughtsIn(provider)).toEqual([0, 1, 0, 1, 0]);
  });

  test('keeps its reasoning after other errors', async () => {
    const provider = scriptedProvider([thinks('a'), fails('overloaded'), 'It is there.']);
    await run(provider);
    expect(thoughtsIn(provider)).toEqual([0, 1, 1]);
  });

  test('is not sent again if retries are off', async () => {
    const provider = scriptedProvider([thinks('a'), fails('history_rejected'), 'No.']);
    const { stop } = await run(provider, { retry: { maxAttempts: 1 } });
    expect([stop.cause, provider.requests.length]).toEqual(['history_rejected', 2]);
  });

  // Regression: the one retry was counted together with other errors of the turn.
  test('is sent once more, even after another error', async () => {
    const script = [thinks('a'), fails('overloaded'), fails('history_rejected'), 'It is there.'];
    const provider = scriptedProvider(script);
    expect((await run(provider)).text).toBe('It is there.');
    expect(thoughtsIn(provider)).toEqual([0, 1, 1, 0]);
  });

  test('goes to the next provider if it is refused again', async () => {
    const refused = fails('history_rejected');
    const fallback = scriptedProvider(['From another.'], { id: 'other' });
    const provider = scriptedProvider([thinks('a'), refused, refused]);
    expect((await run(provider, { fallbacks: [fallback] })).text).toBe('From another.');
  });
});

describe('a fallback provider', () => {
  const named = (id: string, ...script: readonly ScriptEntry[]) => scriptedProvider(script, { id });
  const askedIn = (records: readonly LogRecord[]) =>
    facts(records, 'response_started').map((fact) => 'provider' in fact && fact.provider);

  test('stays in use in later turns', async () => {
    const dead = named('p0', fails('auth'));
    const alive = named('p1', thinks('a'), thinks('b'), 'Both.');
    const { text, records } = await run(dead, { fallbacks: [alive] });
    expect(text).toBe('Both.');
    expect(askedIn(records)).toEqual(['p0', 'p1', 'p1', 'p1']);
    for (const one of [dead, alive]) one.assertUsedUp();
  });

  test('is replaced by the next one if it fails, and none comes back', async () => {
    const first = named('p0', thinks('a'), fails('quota'));
    const second = named('p1', thinks('b'), fails('auth', 2));
    const third = named('p2', thinks('c'), 'All three.');
    const { text, records } = await run(first, { fallbacks: [second, third] });
    expect(text).toBe('All three.');
    expect(askedIn(records)).toEqual(['p0', 'p0', 'p1', 'p1', 'p2', 'p2']);
  });

  test('has as many attempts as the first one, in each turn', async () => {
    const busy = fails('overloaded');
    const first = named('p0', busy, busy);
    const second = named('p1', busy, thinks('a'), busy, 'There.');
    const retry = { baseDelayMs: 0, maxAttempts: 2 };
    const { text, records } = await run(first, { fallbacks: [second], retry });
    expect(text).toBe('There.');
    expect(askedIn(records)).toEqual(['p0', 'p0', 'p1', 'p1', 'p1', 'p1']);
  });

  test('fails permanently after the last one', async () => {
    const first = named('p0', fails('auth'));
    const second = named('p1', thinks('a'), fails('auth'));
    const { stop } = await run(first, { fallbacks: [second] });
    expect(stop).toEqual({ reason: 'error', cause: 'auth' });
    for (const one of [first, second]) one.assertUsedUp();
  });

  test('is not used for a request that it would refuse as well', async () => {
    const first = named('p0', fails('invalid_request'));
    const second = named('p1', 'No.');
    const { stop } = await run(first, { fallbacks: [second] });
    expect([stop.cause, second.requests.length]).toEqual(['invalid_request', 0]);
  });

  test('is not used in the next run, which starts with the first provider', async () => {
    const first = named('p0', fails('auth'), 'I am well.');
    const second = named('p1', 'In its place.');
    const { agent, text } = await run(first, { fallbacks: [second] });
    expect(text).toBe('In its place.');
    expect((await agent.run('And now?', { session }).result).text).toBe('I am well.');
  });

  // Regression: the summary was always requested from the first provider, even if it was down.
  test('also writes the summary of a long context', async () => {
    const usage = { input: 900, output: 100 };
    const dead = named('p0', fails('auth'));
    const alive = named('p1', { ...thinks('a'), usage }, 'A is there.', 'Done.');
    const compaction = { whenTokens: 1000, keepSteps: 1 };
    const { records } = await run(dead, { fallbacks: [alive], compaction });
    expect(facts(records, 'compacted')).toMatchObject([{ summary: 'A is there.' }]);
  });
});
