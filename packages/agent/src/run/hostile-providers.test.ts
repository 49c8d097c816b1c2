import { getEventListeners } from 'node:events';
import { type Delta, DeltaWriter, type Item, itemId, noUsage } from '@millrace/core';
import {
  createProvider,
  type Provider,
  type ProviderErrorKind,
  type StreamContext,
  type StreamStep,
} from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { watchRejections } from '../../../providers/src/testing/watch-rejections.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  never,
  problemsLeftIn,
  session,
  textsOf,
  tool,
  types,
} from '../testing/test-agent.ts';

watchRejections();

const end = { stop: { reason: 'stop' }, usage: noUsage } as const;
const look = tool('look', async () => 'seen');
const failing = (error: ProviderErrorKind): ScriptEntry => ({
  ...answer('Half'),
  fault: { type: 'error', after: 0, error },
});

/** A provider without a DeltaWriter. */
const byHand = (stream: (context: StreamContext) => AsyncIterable<unknown>): Provider =>
  createProvider('p', 'm', (_request, context) => stream(context) as AsyncIterable<StreamStep>);

/** Uses a faulty provider, then a correct one, in the same session. */
async function thenAnother(provider: Provider) {
  const {
    agent,
    end: endOf,
    log,
    clock,
    records,
  } = createTestAgent([], {
    ...{ provider, retry: { maxAttempts: 1 } },
  });
  const result = await endOf(agent.run('First', { session }));
  const left = await problemsLeftIn(log);
  const next = createTestAgent(['Two.'], { log, clock });
  const { text } = await next.end(next.agent.run('Second', { session }));
  return { result, records, left, next: text, leftAfter: await problemsLeftIn(log) };
}

describe('a provider that throws', () => {
  test.each<[string, unknown]>([
    ['an error', new Error('sk-secret')],
    ['what cannot be written', Object.create(null)],
  ])('%s ends the run properly, and the partial answer stays', async (_what, thrown) => {
    const provider = byHand(async function* ({ item: { id, turn, attempt }, ids }) {
      const writer = new DeltaWriter({ itemId: id, turn, attempt, ids });
      writer.text().append('I will.');
      yield { deltas: writer.take() };
      throw thrown;
    });
    const { result, records, left, next } = await thenAnother(provider);
    expect([result.stop.reason, result.text, left, next]).toEqual(['error', 'I will.', [], 'Two.']);
    expect(result.cause).toBe(thrown);
    const { cause: _cause, ...told } = result;
    expect(JSON.stringify([told, records])).not.toContain('sk-secret');
  });

  test('immediately ends the run properly too', async () => {
    const throwing = byHand(() => expect.fail('no'));
    const { result, left, next } = await thenAnother(throwing);
    expect([result.stop.reason, left, next]).toEqual(['error', [], 'Two.']);
  });
});

describe('a provider that breaks the protocol', () => {
  type Deltas = (begun: Delta & { readonly type: 'begin_part' }) => readonly unknown[];
  const begins = (deltas: Deltas) =>
    byHand(async function* ({ item: { id, turn, attempt }, ids }) {
      const partId = ids.part(turn, attempt);
      const begun = { type: 'begin_part', partId, itemId: id, kind: 'text' } as const;
      yield { deltas: deltas(begun) };
      yield { deltas: [], end };
    });
  const expectHarmless = async (provider: Provider) => {
    const { result, left, next, leftAfter } = await thenAnother(provider);
    expect([result.stop.reason, next, leftAfter]).toEqual(['error', 'Two.', []]);
    expect(left).toEqual([]);
  };
  const chunk = (partId: unknown, at: number) => ({ type: 'append_text', partId, at, chunk: 'a' });

  test.each<[string, Provider]>([
    [
      'tells its steps in the wrong order',
      scriptedProvider([{ ...answer('abcdef'), fault: { type: 'swap', after: 2 } }]),
    ],
    ['leaves a gap', begins((begun) => [begun, chunk(begun.partId, 5)])],
    ['adds to what nobody began', begins(({ partId }) => [chunk(partId, 0)])],
    ['writes to another item', begins((begun) => [{ ...begun, itemId: itemId('other') }])],
    ['begins twice', begins((begun) => [begun, begun])],
    ['commits another length', begins((b) => [b, { ...b, type: 'commit_part', length: 5 }])],
    ['ends without an end', byHand(async function* () {})],
    [
      'says nothing that can be read',
      byHand(async function* () {
        yield null;
      }),
    ],
  ])('and %s affects one answer, not the session', async (_how, provider) => {
    await expectHarmless(provider);
  });

  const retyped = (begun: Delta & { readonly type: 'begin_part' }, rest: object) => ({
    ...{ partId: begun.partId, at: 0 },
    ...rest,
  });
  test.each<[string, Provider]>([
    ['sets a text', begins((b) => [b, retyped(b, { type: 'replace_structured', value: 1 })])],
    [
      'adds bytes to a text',
      begins((b) => [b, retyped(b, { type: 'append_bytes', chunk: new Uint8Array(1) })]),
    ],
    ['adds text to a value', begins((b) => [{ ...b, kind: 'structured' }, chunk(b.partId, 0)])],
    ['leaves a part open', begins((b) => [b])],
    [
      'commits a value that never came',
      begins((b) => [{ ...b, kind: 'structured' }, retyped(b, { type: 'commit_part', length: 0 })]),
    ],
    ['begins what is no kind', begins((b) => [{ ...b, kind: 'nothing' }])],
    [
      'ends without a reason',
      byHand(async function* () {
        yield { deltas: [], end: {} };
      }),
    ],
    [
      'fails with an error of its own',
      byHand(async function* () {
        yield { deltas: [], end: { ...end, error: new Error('own') } };
      }),
    ],
  ])('and %s affects one answer, not the session', async (_how, provider) => {
    await expectHarmless(provider);
  });
});

describe('a provider that never ends', () => {
  const deaf = byHand(async function* () {
    yield await never();
  });
  const unclosed = byHand(() => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ value: { deltas: [], end } }),
      return: never,
    }),
  }));
  const expectToStop = async (provider: Provider) => {
    const stage = createTestAgent([], { provider });
    const run = stage.agent.run('Go', { session });
    await stage.until('response_started');
    await run.abort();
    expect(['aborted', 'stop']).toContain((await stage.end(run)).stop.reason);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  };

  test('does not block an abort beyond the grace period', () => expectToStop(deaf));

  test('does not block an abort if it cannot be closed', () => expectToStop(unclosed));
});

test('a provider that throws or breaks the protocol leaves no timer behind', async () => {
  const swap = { ...answer('abcdef'), pieces: 'character', fault: { type: 'swap', after: 2 } };
  for (const provider of [
    byHand(() => expect.fail('no')),
    scriptedProvider([swap as ScriptEntry]),
  ]) {
    const stage = createTestAgent([], { provider, retry: { maxAttempts: 1 } });
    expect((await stage.end(stage.agent.run('Go'))).stop.reason).toBe('error');
    expect(stage.clock.pending).toBe(0);
  }
});

describe('a provider that fails', () => {
  test('is not retried with maxAttempts: 1, whatever the error', async () => {
    for (const error of ['protocol_error', 'truncated_stream', 'overloaded'] as const) {
      const {
        agent,
        end: endOf,
        provider,
      } = createTestAgent([failing(error), 'Two.'], {
        retry: { maxAttempts: 1 },
      });
      const { stop } = await endOf(agent.run('Go'));
      expect([stop, provider.requests.length]).toEqual([{ reason: 'error', cause: error }, 1]);
    }
  });
});

describe('a request', () => {
  test('is not repeated if the model stops for tools but calls none', async () => {
    const hm = { ...answer('Hm.'), stop: 'tool_use' } as const;
    const {
      agent,
      end: endOf,
      provider,
      log,
    } = createTestAgent(Array.from({ length: 9 }, () => hm));
    const { stop, text } = await endOf(agent.run('Go', { session }));
    expect([stop.reason, text, provider.requests.length]).toEqual(['unknown', 'Hm.', 1]);
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('contains the caller’s own context, and a notification alone is answered', async () => {
    const item = (id: string, kind: Item['kind'], text: string): Item => ({
      ...{ id: itemId(id), kind },
      parts: [{ kind: 'text', text }],
    });
    const { agent, end: endOf, provider } = createTestAgent(['One.', 'Two.']);
    await endOf(agent.run([item('a', 'context', 'Once'), item('b', 'user', 'Go')]));
    expect(provider.requests[0]?.request.items.flatMap(textsOf)).toEqual(['Once', 'Go']);
    expect((await endOf(agent.run(item('c', 'notification', 'It is done')))).text).toBe('Two.');
  });

  test('leaves no listener on the run’s signal, and neither do approvals', async () => {
    const turns = 30;
    const calls = Array.from({ length: turns }, (_, n) => answer(call(`c${n}`, 'look', n)));
    const inner = scriptedProvider([...calls, 'Done.']);
    const counts: number[] = [];
    let last: AbortSignal | undefined;
    const counting = createProvider('p', 'm', (request, context) => {
      last = context.signal;
      if (last) counts.push(getEventListeners(last, 'abort').length);
      return inner.stream(request, context);
    });
    const stage = createTestAgent([], { provider: counting, tools: [look], approve: () => 'ask' });
    const run = stage.agent.run('Go');
    for (let n = 0; n < turns; n++) {
      await stage.until('approval_asked', n + 1);
      await run.approve(`c${n}` as never);
    }
    expect((await stage.end(run)).text).toBe('Done.');
    expect(counts).toHaveLength(turns + 1);
    expect(new Set(counts).size).toBe(1);
    expect(last && getEventListeners(last, 'abort')).toEqual([]);
    expect(types(stage.records)).not.toContain('aborted');
  });
});
