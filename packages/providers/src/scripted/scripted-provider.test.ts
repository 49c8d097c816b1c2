import { countingIds, type Delta, itemId, type Part, toolCallId } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StreamContext, StreamStep } from '../contract/provider.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { Clock } from '../transport/clock.ts';
import { piecesOf, type ScriptEntry, toolCall } from './script.ts';
import { type ScriptedOptions, scriptedProvider } from './scripted-provider.ts';

const contextOf = (signal?: AbortSignal): StreamContext => ({
  item: { id: itemId('i'), turn: 2, attempt: 3 },
  ids: countingIds(),
  signal,
});

async function steps(script: ScriptEntry, options?: ScriptedOptions, signal?: AbortSignal) {
  const emitted: StreamStep[] = [];
  const provider = scriptedProvider([script], options);
  for await (const step of provider.stream({ items: [] }, contextOf(signal))) emitted.push(step);
  return emitted;
}

function catching(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

const chunksOf = (emitted: readonly StreamStep[]) =>
  emitted.flatMap(({ deltas }) =>
    deltas.flatMap((delta) => (delta.type === 'append_text' ? delta.chunk : [])),
  );

describe('pieces', () => {
  test('text is split by character, and a character is never cut', async () => {
    expect(chunksOf(await steps('Hé😀'))).toEqual(['H', 'é', '😀']);
  });

  test('token-like pieces keep every character', () => {
    expect([...piecesOf('Hello there,\n wonderful', 'token')]).toEqual([
      'Hello',
      ' there,',
      '\n',
      ' wonder',
      'ful',
    ]);
  });

  test('the pieces of any text join to the text, and the same seed gives the same pieces', () => {
    const pieces = fc.oneof(
      fc.constantFrom('character', 'token', 'whole'),
      fc.record({ seed: fc.integer() }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), pieces, (text, how) => {
        expect([...piecesOf(text, how)].join('')).toBe(text);
        expect([...piecesOf(text, how)]).toEqual([...piecesOf(text, how)]);
      }),
    );
  });
});

test('a call, a list of parts and a text are whole responses', async () => {
  const call = toolCall('weather', { town: 'Bath' });
  expect(call).toEqual({ kind: 'tool_call', name: 'weather', arguments: '{"town":"Bath"}' });
  const provider = scriptedProvider([call, ['Wait.', toolCall('now', {}, 'c2')], () => call]);
  const answers = await Promise.all([1, 2, 3].map(() => provider.complete({ items: [] })));
  expect(answers.map(({ stop }) => stop.reason)).toEqual(['tool_use', 'tool_use', 'tool_use']);
  expect(answers.map(({ item }) => item.parts.map(({ kind }) => kind))).toEqual([
    ['tool_call'],
    ['text', 'tool_call'],
    ['tool_call'],
  ]);
});

test('a call is a start and fragments, with the arguments as they were scripted', async () => {
  const call: Part = {
    kind: 'tool_call',
    toolCallId: toolCallId('c1'),
    name: 'read',
    arguments: '{"a":1',
  };
  const emitted = await steps({ content: { parts: [call] }, pieces: 'token' });
  expect(emitted[0]?.deltas).toMatchObject([
    { type: 'begin_part', toolCallId: 'c1', name: 'read' },
  ]);
  expect(chunksOf(emitted).join('')).toBe('{"a":1');
  expect(emitted.at(-1)?.end?.stop.reason).toBe('tool_use');
});

test('a script has calls without ids, alone, in lists and in functions', async () => {
  const provider = scriptedProvider([
    toolCall('weather', { town: 'Bath' }),
    ['I look twice.', toolCall('weather', { town: 'Ulm' }), toolCall('now')],
    () => toolCall('now', {}, 'c9'),
    () => ['Take a', ' coat.'],
  ]);
  const context = contextOf();
  const found = [];
  for (let request = 0; request < 4; request += 1) {
    const deltas = [];
    for await (const step of provider.stream({ items: [] }, context)) deltas.push(...step.deltas);
    found.push(
      deltas.flatMap((delta) =>
        delta.type === 'begin_part' && delta.kind === 'tool_call' ? [delta.toolCallId] : [],
      ),
    );
  }
  expect(found).toEqual([['call1'], ['call2', 'call3'], ['c9'], []]);

  const { item } = await scriptedProvider([[toolCall('now'), 'Hm.']]).complete({ items: [] });
  expect(item.parts).toMatchObject([
    { kind: 'tool_call', name: 'now', input: {} },
    { kind: 'text', text: 'Hm.' },
  ]);
});

test('every kind of part is streamed and folds to itself', async () => {
  const parts: Part[] = [
    {
      kind: 'reasoning',
      form: 'summary',
      text: 'Hm',
      signature: 's',
      providerState: { provider: 'p', model: 'm', data: 1 },
    },
    { kind: 'text', text: 'Hello', metadata: { a: 1 } },
    { kind: 'structured', value: { a: [1] }, name: 'out' },
    {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'bytes', bytes: new Uint8Array(3000).fill(7) },
    },
    { kind: 'media', mimeType: 'image/png', source: { type: 'url', url: 'https://a/b' } },
    {
      kind: 'file',
      name: 'a.txt',
      mimeType: 'text/plain',
      source: { type: 'bytes', bytes: Uint8Array.of(1) },
    },
    { kind: 'custom', name: 'search', value: null },
  ];
  const { item } = await scriptedProvider([{ content: { parts } }]).complete({ items: [] });
  expect(item.parts).toEqual(parts);
});

test('recorded deltas are moved to the current item and attempt, and closed after a cut', async () => {
  const recorded = (await steps('Hi', { pieces: 'whole' })).flatMap(({ deltas }) => deltas);
  const provider = scriptedProvider([
    { content: { deltas: recorded } },
    { content: { deltas: recorded }, fault: { type: 'cut', after: 2 } },
  ]);
  expect((await provider.complete({ items: [] })).text).toBe('Hi');
  expect((await provider.complete({ items: [] })).item.parts).toEqual([
    { kind: 'text', text: 'Hi', partial: true },
  ]);
});

test('a hand-written response is streamed step by step', async () => {
  const emitted = await steps({
    content: {
      *write(writer) {
        const [a, b] = [writer.text(), writer.text()];
        a.append('1');
        yield;
        b.append('2');
        a.commit();
        b.commit();
        yield;
      },
    },
  });
  expect(emitted.map(({ deltas }) => deltas.length)).toEqual([3, 3, 0]);
});

test('a response may be a function of the request, and requests are recorded', async () => {
  const provider = scriptedProvider([({ items }) => `${items.length} items`]);
  const request = { items: [{ id: itemId('u'), kind: 'user', parts: [] } as const] };
  expect((await provider.complete(request)).text).toBe('1 items');
  expect(provider.requests.map((call) => call.request)).toEqual([request]);
});

test('assertUsedUp reports unused responses and surplus requests', async () => {
  const provider = scriptedProvider(['one', 'two']);
  await provider.complete({ items: [] });
  expect(() => provider.assertUsedUp()).toThrow('1 of 2 scripted responses');
  await provider.complete({ items: [] });
  provider.assertUsedUp();
  const { error } = await provider.complete({ items: [] });
  expect(error?.message).toContain('request 3');
  expect(() => provider.assertUsedUp()).toThrow(
    '3 requests were made, but only 2 responses are scripted',
  );
  expect(catching(() => provider.assertUsedUp())).toMatchObject({ code: 'not_as_scripted' });
});

test('a response is not used before the first step is read', async () => {
  let asked = 0;
  const provider = scriptedProvider([() => `${++asked}`, 'two']);
  provider.stream({ items: [] }, contextOf());
  const left = provider.stream({ items: [] }, contextOf())[Symbol.asyncIterator]();
  await left.return?.();
  expect([provider.requests.length, asked]).toEqual([0, 0]);
  expect((await provider.complete({ items: [] })).text).toBe('1');
  expect(() => provider.assertUsedUp()).toThrow('1 of 2');
});

describe('a mistake in a script ends the stream with an error:', () => {
  const failure = new RangeError('no');
  const endOf = async (script: ScriptEntry) =>
    await scriptedProvider([script]).complete({ items: [] });

  test('a function that throws', async () => {
    const { error, stop } = await endOf(() => {
      throw failure;
    });
    expect(error).toMatchObject({ kind: 'invalid_request', provider: 'scripted', cause: failure });
    expect(stop).toEqual({ reason: 'error', cause: 'invalid_request' });
  });

  test('a writer that throws, after which the text is kept as partial', async () => {
    const { error, item } = await endOf({
      content: {
        *write(writer) {
          writer.text().append('written');
          yield;
          throw failure;
        },
      },
    });
    expect(error).toMatchObject({ kind: 'invalid_request', cause: failure });
    expect(item.parts).toEqual([{ kind: 'text', text: 'written', partial: true }]);
  });

  test('a writer that leaves parts open', async () => {
    const { error, item } = await endOf({
      content: {
        *write(writer) {
          writer.text().append('written');
          yield;
          writer.toolCall(toolCallId('c'), 'add').append('{}');
        },
      },
    });
    expect(error?.kind).toBe('invalid_request');
    expect(error?.message).toContain('2 parts open');
    expect(item.parts).toEqual([{ kind: 'text', text: 'written', partial: true }]);
  });

  test('recorded deltas that leave parts open', async () => {
    const recorded = (await steps('Hi')).flatMap(({ deltas }) => deltas);
    const { error, text } = await endOf({ content: { deltas: recorded.slice(0, -1) } });
    expect(error?.message).toContain('1 parts open');
    expect(text).toBe('Hi');
  });

  test.each(['error', 'stall', 'cut', 'swap'] as const)(
    'a fault after more steps than there are: %s',
    async (type) => {
      const response = (after: number) => ({
        content: { parts: ['ab'] },
        fault: { type, after, error: 'server' } as const,
      });
      const { error, text } = await endOf(response(type === 'swap' ? 3 : 4));
      expect(error?.kind).toBe('invalid_request');
      expect(error?.message).toContain('it has 3');
      expect(text).toBe('ab');
      expect((await endOf(response(Number.NaN))).error?.kind).toBe('invalid_request');
    },
  );
});

test('a reader may leave a stream that stalls or pauses', async () => {
  const clock = new VirtualClock();
  const stalling = { content: { parts: ['ab'] }, fault: { type: 'stall', after: 1 } } as const;
  for (const script of [stalling, { content: { parts: ['ab'] }, pauseMs: 10 }]) {
    const provider = scriptedProvider([script], { clock });
    const stream = provider.stream({ items: [] }, contextOf())[Symbol.asyncIterator]();
    await stream.next();
    const waiting = stream.next();
    await stream.return?.();
    expect((await waiting).value.end.stop.reason).toBe('aborted');
    expect((await stream.next()).done).toBe(true);
    expect(clock.pending).toBe(0);
  }
});

test('usage and stop reason are as scripted', async () => {
  const response = {
    content: { parts: ['x'] },
    usage: { input: 7, output: 9 },
    stop: 'length',
  } as const;
  const { usage, stop } = await scriptedProvider([response]).complete({ items: [] });
  expect({ input: usage.input, output: usage.output, stop }).toEqual({
    input: 7,
    output: 9,
    stop: { reason: 'length' },
  });
});

describe('faults', () => {
  test('an error before any output', async () => {
    const emitted = await steps({
      content: { parts: ['x'] },
      fault: { type: 'error', after: 0, error: 'rate_limit' },
    });
    expect(emitted).toHaveLength(1);
    expect(emitted[0]).toMatchObject({
      deltas: [],
      end: { stop: { reason: 'error' }, error: { kind: 'rate_limit' } },
    });
  });

  test('an error in the middle, and a cut: the text is kept as partial', async () => {
    for (const fault of [
      { type: 'error', after: 2, error: 'server' },
      { type: 'cut', after: 2 },
    ] as const) {
      const { item, error } = await scriptedProvider([
        { content: { parts: ['abc'] }, fault },
      ]).complete({ items: [] });
      expect(item.parts).toEqual([{ kind: 'text', text: 'ab', partial: true }]);
      expect(error?.kind).toBe(fault.type === 'cut' ? 'truncated_stream' : 'server');
    }
  });

  test('a stall lasts until it is aborted', async () => {
    const controller = new AbortController();
    const provider = scriptedProvider([
      { content: { parts: ['abc'] }, fault: { type: 'stall', after: 1 } },
    ]);
    const seen: Delta[] = [];
    for await (const { deltas, end } of provider.stream(
      { items: [] },
      contextOf(controller.signal),
    )) {
      seen.push(...deltas);
      queueMicrotask(() => controller.abort());
      if (end) expect(end.stop.reason).toBe('aborted');
    }
    expect(seen.at(-1)).toMatchObject({ type: 'commit_part', partial: true });
  });

  test('swapped steps are emitted in the wrong order', async () => {
    const emitted = await steps({ content: { parts: ['abc'] }, fault: { type: 'swap', after: 1 } });
    expect(chunksOf(emitted)).toEqual(['a', 'c', 'b']);
  });
});

test('a pause between steps uses the clock, and an abort ends it', async () => {
  const waits: { ms: number; run: () => void }[] = [];
  let cancelled = 0;
  const clock: Clock = {
    now: () => 0,
    after: (ms, run) => {
      waits.push({ ms, run });
      return () => {
        cancelled++;
      };
    },
  };
  const controller = new AbortController();
  const provider = scriptedProvider(['ab'], { clock, pauseMs: 40 });
  const stream = provider
    .stream({ items: [] }, contextOf(controller.signal))
    [Symbol.asyncIterator]();
  await stream.next();
  const second = stream.next();
  await Promise.resolve();
  expect(waits.map(({ ms }) => ms)).toEqual([40]);
  waits[0]?.run();
  expect((await second).value.deltas).toMatchObject([{ chunk: 'b' }]);
  const third = stream.next();
  await Promise.resolve();
  controller.abort();
  expect((await third).value.end.stop.reason).toBe('aborted');
  expect(cancelled).toBe(2);
});
