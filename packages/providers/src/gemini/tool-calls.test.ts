import {
  countingIds,
  type Delta,
  type Item,
  itemId,
  type JsonObject,
  type ToolCallPart,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { Completion } from '../contract/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { gemini, vertex } from './provider.ts';

const model = 'gemini-3.1-pro-preview';
const question: Item = { id: itemId('u1'), kind: 'user', parts: [{ kind: 'text', text: 'When?' }] };

async function answer(
  events: readonly (object | string)[],
): Promise<Completion & { readonly calls: readonly ToolCallPart[] }> {
  const { fetch } = fetchOf([sseOf(events)]);
  const provider = gemini({ model, apiKey: 'k', fetch });
  const completion = await provider.complete({ items: [question] }, { ids: countingIds() });
  const calls = completion.item.parts.filter((part) => part.kind === 'tool_call');
  return { ...completion, calls };
}

const parts = (...list: readonly JsonObject[]): JsonObject => ({
  candidates: [{ content: { parts: list, role: 'model' } }],
});
const call = (name: string, more: JsonObject = {}): JsonObject => ({
  functionCall: { name, ...more },
});
const piece = (jsonPath: string, stringValue: string, willContinue = true): JsonObject =>
  parts({ functionCall: { partialArgs: [{ jsonPath, stringValue }], willContinue } });
const end = parts({ functionCall: {} });
const stop: JsonObject = { candidates: [{ finishReason: 'STOP' }] };
const state = (data: JsonObject) => ({ provider: 'gemini', model, data });

describe('whole calls', () => {
  test('have their arguments as JSON text, and an id where none came', async () => {
    const { calls, stop: reason } = await answer([
      parts(call('get_tide', { args: { port: 'Brest' } })),
      stop,
    ]);
    expect(calls).toEqual([
      {
        kind: 'tool_call',
        toolCallId: 'call1',
        name: 'get_tide',
        arguments: '{"port":"Brest"}',
        input: { port: 'Brest' },
      },
    ]);
    expect(reason).toEqual({ reason: 'tool_use', raw: 'STOP' });
  });

  test('keep the id that came', async () => {
    const { calls } = await answer([parts(call('a', { id: 'call_345658', args: {} })), stop]);
    expect(calls[0]?.toolCallId).toBe('call_345658');
  });

  test('trap: ids that repeat, or are none, are replaced by new ones', async () => {
    const { calls } = await answer([
      parts(call('a', { id: 'x' }), call('b', { id: 'x' }), call('c', { id: '' })),
      parts(call('d', { id: 'y'.repeat(1025) }), call('e', { id: 'a\nb' }), call('f', { id: 7 })),
      stop,
    ]);
    const ids = calls.map(({ toolCallId }) => toolCallId);
    expect(ids).toEqual(['x', 'call1', 'call2', 'call3', 'call4', 'call5']);
  });

  test('an id that was made is not given again by the provider', async () => {
    const { calls } = await answer([parts(call('a'), call('b', { id: 'call1' })), stop]);
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(2);
  });

  test('E11, trap: absent args mean {}', async () => {
    const { calls } = await answer([parts(call('a'), call('b', { args: null })), stop]);
    expect(calls.map(({ input }) => input)).toEqual([{}, {}]);
  });

  test('E14, trap: args may be a string, which is the text itself', async () => {
    const { calls } = await answer([parts(call('a', { args: '{ "port" : 1 }' })), stop]);
    expect(calls[0]).toMatchObject({ arguments: '{ "port" : 1 }', input: { port: 1 } });
  });

  test('E26: a string that is not JSON stays what it is, without a value', async () => {
    const { calls, stop: reason } = await answer([parts(call('a', { args: '{"port"' })), stop]);
    expect(calls[0]).toMatchObject({ arguments: '{"port"' });
    expect(calls[0]?.input).toBeUndefined();
    expect(reason.reason).toBe('tool_use');
  });

  test('E29: __proto__ in args is data', async () => {
    const { calls } = await answer([
      '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":{"__proto__":{"x":1}}}}]}}]}',
      stop,
    ]);
    expect(calls[0]?.arguments).toBe('{"__proto__":{"x":1}}');
  });

  test('parallel calls: the signature is on the first only', async () => {
    const { calls } = await answer([
      parts({ ...call('a'), thoughtSignature: 's1' }, call('b'), call('c')),
      stop,
    ]);
    const states = calls.map(({ providerState }) => providerState);
    expect(states).toEqual([state({ thoughtSignature: 's1' }), undefined, undefined]);
  });

  test('E17, E18: equal calls of one event are two, with two ids', async () => {
    const roll = call('roll', { args: { sides: 6 } });
    const { calls } = await answer([parts({ ...roll, thoughtSignature: 's1' }, roll), stop]);
    expect(calls.map(({ toolCallId }) => toolCallId)).toEqual(['call1', 'call2']);
  });

  test('trap: a signed call again in a later event, unsigned, is the same one', async () => {
    const tide = call('get_tide', { args: { port: 'Brest' } });
    const { calls } = await answer([parts({ ...tide, thoughtSignature: 's1' }), parts(tide), stop]);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.providerState).toEqual(state({ thoughtSignature: 's1' }));
  });

  test('trap: signed calls again in a later event are the same ones, all of them or none', async () => {
    const roll = call('roll', { args: { sides: 6 } });
    const flip = call('flip', { args: { coin: 1 } });
    const first = parts({ ...roll, thoughtSignature: 's1' }, flip);
    const counts = [
      // The event again, without its signature, as seen in real streams.
      [[first, parts(roll, flip)], 2],
      // Only once: a third copy is a new call (E17).
      [[first, parts(roll, flip), parts(roll, flip)], 4],
      // Not the same event: a repeat has all calls and no others (E17).
      [[first, parts(roll)], 3],
      [[first, parts(flip)], 3],
      [[first, parts(roll, flip, flip)], 5],
      [[first, parts(roll, roll)], 4],
      [[parts({ ...roll, thoughtSignature: 's1' }), parts(roll, roll)], 3],
      // Nothing was signed, so a repeat cannot be detected (E17).
      [[parts(roll), parts(roll)], 2],
      // Calls without arguments all look the same (E17).
      [[parts({ ...call('a'), thoughtSignature: 's1' }), parts(call('a'))], 2],
    ] as const;
    for (const [events, count] of counts) {
      expect((await answer([...events, stop])).calls).toHaveLength(count);
    }
  });

  test('trap: with its id a signed call is the same one, and with another it is not (E17)', async () => {
    const roll = (id: string) => call('roll', { args: { sides: 6 }, id });
    const first = parts({ ...roll('i1'), thoughtSignature: 's1' });
    expect((await answer([first, parts(roll('i1')), stop])).calls).toHaveLength(1);
    expect((await answer([first, parts(roll('i2')), stop])).calls).toHaveLength(2);
    // An id identifies a repeat also next to other calls, but not inside one event.
    expect((await answer([first, parts(call('a'), roll('i1')), stop])).calls).toHaveLength(2);
    const both = parts({ ...roll('i1'), thoughtSignature: 's1' }, roll('i1'));
    expect((await answer([both, stop])).calls).toHaveLength(2);
  });

  test.each([
    ['another id', { args: { port: 'Brest' }, id: 'other' }],
    ['other arguments', { args: { port: 'Ostend' } }],
    ['another signature', { args: { port: 'Brest' } }, 's2'],
  ])('a later call with %s is another one', async (_, more, thoughtSignature?: string) => {
    const first = { ...call('get_tide', { args: { port: 'Brest' } }), thoughtSignature: 's1' };
    const second = { ...call('get_tide', more), ...(thoughtSignature && { thoughtSignature }) };
    const { calls } = await answer([parts(first), parts(second), stop]);
    expect(calls).toHaveLength(2);
  });

  test('stand between texts in their order', async () => {
    const { item } = await answer([
      parts({ text: 'a' }, call('b'), { text: 'c' }),
      parts({ text: '', ...call('d') }, { text: 'e', ...call('f') }),
      stop,
    ]);
    const said = item.parts.map((part) =>
      part.kind === 'tool_call' ? part.name : 'text' in part && part.text,
    );
    expect(said).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  test('without a name, arguments are a protocol error', async () => {
    for (const nameless of [
      { args: { a: 1 } },
      { partialArgs: [{ jsonPath: '$.a', boolValue: true }] },
    ]) {
      const { error, calls } = await answer([parts({ functionCall: nameless }), stop]);
      expect(error?.kind).toBe('protocol_error');
      expect(calls).toEqual([]);
    }
  });
});

describe('arguments that stream (Vertex)', () => {
  const start = (name: string): JsonObject => parts(call(name, { willContinue: true }));

  async function deltasOf(events: readonly object[]): Promise<readonly (readonly Delta[])[]> {
    const { fetch } = fetchOf(events.map((event) => sseOf([event])));
    const provider = gemini({ model, apiKey: 'k', fetch });
    const steps: (readonly Delta[])[] = [];
    await provider.complete(
      { items: [question] },
      { ids: countingIds(), onStep: ({ deltas }) => steps.push(deltas) },
    );
    return steps;
  }

  test('are emitted as they arrive: the call at once, then each piece', async () => {
    const steps = await deltasOf([
      start('get_tide'),
      piece('$.port', 'Bre'),
      piece('$.port', 'st'),
      end,
      stop,
    ]);
    const told = steps.map((deltas) =>
      deltas.map((delta) => (delta.type === 'append_text' ? delta.chunk : delta.type)),
    );
    expect(told).toEqual([['begin_part'], ['{"port":"Bre'], ['st'], ['"}', 'commit_part'], []]);
  });

  test('values of every kind, on nested paths and in arrays', async () => {
    const partialArgs = [
      { jsonPath: '$.legs[0].hours', numberValue: 7.5 },
      { jsonPath: '$.legs[1].stops[0]', stringValue: 'Dover' },
      { jsonPath: '$.metric', boolValue: true },
      { jsonPath: '$.note', nullValue: 'NULL_VALUE' },
    ];
    const { calls } = await answer([
      start('plan'),
      parts({ functionCall: { partialArgs, willContinue: true } }),
      end,
      stop,
    ]);
    expect(calls[0]?.input).toEqual({
      legs: [{ hours: 7.5 }, { stops: ['Dover'] }],
      metric: true,
      note: null,
    });
  });

  test('two calls of one name, one after the other, with the signature on the first', async () => {
    const { calls } = await answer([
      parts({ ...call('get_tide', { willContinue: true }), thoughtSignature: 's1' }),
      piece('$.port', 'Brest'),
      end,
      start('get_tide'),
      piece('$.port', 'Ostend'),
      { candidates: [{ content: { parts: [{ functionCall: {} }] }, finishReason: 'STOP' }] },
    ]);
    expect(calls.map(({ input, providerState }) => [input, providerState])).toEqual([
      [{ port: 'Brest' }, state({ thoughtSignature: 's1' })],
      [{ port: 'Ostend' }, undefined],
    ]);
  });

  test('trap: the end may be missing: the next call, or the terminal, ends it', async () => {
    const { calls, stop: reason } = await answer([
      start('a'),
      piece('$.x', '1'),
      start('b'),
      piece('$.x', '2'),
      stop,
    ]);
    expect(calls.map(({ name, input }) => [name, input])).toEqual([
      ['a', { x: '1' }],
      ['b', { x: '2' }],
    ]);
    expect(reason.reason).toBe('tool_use');
  });

  test('trap: pieces that do not go on are an end, and a further end is none', async () => {
    const { calls } = await answer([
      start('a'),
      piece('$.x', '1', false),
      end,
      start('b'),
      end,
      stop,
    ]);
    expect(calls.map(({ name, input }) => [name, input])).toEqual([
      ['a', { x: '1' }],
      ['b', {}],
    ]);
  });

  const started = (name: string, id: string): JsonObject =>
    parts(call(name, { id, willContinue: true }));
  const pieceOf = (id: string, stringValue: string, more: JsonObject = {}): JsonObject => {
    const partialArgs = [{ jsonPath: '$.x', stringValue }];
    return parts({ functionCall: { id, partialArgs, willContinue: true, ...more } });
  };

  test('pieces with an id are of the call that has it, whichever began last', async () => {
    const { calls, stop: reason } = await answer([
      started('a', 'i1'),
      started('b', 'i2'),
      pieceOf('i1', '1'),
      pieceOf('i2', '2'),
      pieceOf('i1', '1', { name: 'a' }),
      pieceOf('i2', '2'),
      parts({ functionCall: { id: 'i1' } }),
      // Without an id, or with an unknown one, it belongs to the last open call.
      pieceOf('i9', '3'),
      end,
      stop,
    ]);
    expect(calls.map(({ toolCallId, input }) => [toolCallId, input])).toEqual([
      ['i1', { x: '11' }],
      ['i2', { x: '223' }],
    ]);
    expect(reason.reason).toBe('tool_use');
  });

  test('calls with ids whose end is missing end with the response, unless it was cut', async () => {
    const events = [started('a', 'i1'), pieceOf('i1', '1'), started('b', 'i2'), pieceOf('i2', '2')];
    const whole = await answer([...events, stop]);
    expect(whole.calls.map(({ input }) => input)).toEqual([{ x: '1' }, { x: '2' }]);
    const cut = await answer([...events, { candidates: [{ finishReason: 'MAX_TOKENS' }] }]);
    expect(cut.calls).toEqual([]);
  });

  test('a call that came to its end stays, whatever the response ends with', async () => {
    const cut = { candidates: [{ finishReason: 'MAX_TOKENS' }] };
    const { calls } = await answer([start('a'), piece('$.x', '1', false), cut]);
    expect(calls.map(({ input }) => input)).toEqual([{ x: '1' }]);
  });

  test('trap: a bare willContinue in the middle of a call is nothing', async () => {
    const { calls } = await answer([
      start('a'),
      piece('$.x', '1'),
      parts({ functionCall: { willContinue: true } }),
      piece('$.y', '2'),
      end,
      stop,
    ]);
    expect(calls.map(({ input }) => input)).toEqual([{ x: '1', y: '2' }]);
  });

  test('a call that is whole in one event, pieces and all', async () => {
    const partialArgs = [{ jsonPath: '$.x', numberValue: 1 }];
    const { calls } = await answer([parts(call('a', { partialArgs })), stop]);
    expect(calls[0]?.input).toEqual({ x: 1 });
  });

  test('args beside pieces are where they begin, and at the end what they are', async () => {
    const { calls } = await answer([
      parts(call('a', { args: { x: 1 }, willContinue: true })),
      piece('$.y', '2'),
      end,
      start('b'),
      piece('$.x', '1'),
      parts({ functionCall: { args: { x: '12' } } }),
      stop,
    ]);
    expect(calls.map(({ input }) => input)).toEqual([{ x: 1, y: '2' }, { x: '12' }]);
  });

  test('paths that go back are written whole at the end', async () => {
    const { calls } = await answer([
      start('a'),
      piece('$.x', '1'),
      piece('$.y', '2'),
      piece('$.x', '3'),
      end,
      stop,
    ]);
    expect(calls[0]?.input).toEqual({ x: '13', y: '2' });
  });

  test('E26: paths that contradict each other are invalid arguments, and the response goes on', async () => {
    const { calls, stop: reason } = await answer([
      start('a'),
      piece('$.x', '1'),
      piece('$.x.y', '2'),
      end,
      start('b'),
      end,
      stop,
    ]);
    expect(calls.map(({ name, input }) => [name, input])).toEqual([
      ['a', undefined],
      ['b', {}],
    ]);
    expect(reason.reason).toBe('tool_use');
  });

  test.each(['MAX_TOKENS', 'SAFETY', 'OTHER'])(
    'E11: a call cut off by %s before any argument is never one with {}',
    async (finishReason) => {
      const cut = { candidates: [{ finishReason }] };
      for (const begun of [start('a'), parts(call('a', { willContinue: true, args: {} }))]) {
        expect((await answer([begun, cut])).calls).toEqual([]);
      }
      // A call in one piece is complete.
      const { calls } = await answer([parts(call('a')), cut]);
      expect(calls).toMatchObject([{ input: {} }]);
    },
  );

  test.each(['MAX_TOKENS', 'SAFETY', 'OTHER'])(
    'a call without end at %s was cut, and is retracted',
    async (finishReason) => {
      const { item, stop: reason } = await answer([
        parts({ text: 'x' }),
        start('a'),
        piece('$.x', '1'),
        { candidates: [{ finishReason }] },
      ]);
      expect(item.parts).toEqual([{ kind: 'text', text: 'x' }]);
      expect(reason.raw).toBe(finishReason);
    },
  );

  test('E25: cut in the middle of a call: truncated, and the call is retracted', async () => {
    const { item, error } = await answer([start('a'), piece('$.x', '1')]);
    expect(error?.kind).toBe('truncated_stream');
    expect(item.parts).toEqual([]);
  });

  test('text between pieces is a part of its own, and the call goes on', async () => {
    const { item } = await answer([
      start('a'),
      piece('$.x', '1'),
      parts({ text: 'meanwhile' }),
      piece('$.x', '2'),
      end,
      stop,
    ]);
    expect(item.parts).toMatchObject([
      { kind: 'tool_call', input: { x: '12' } },
      { kind: 'text', text: 'meanwhile' },
    ]);
  });

  test('Vertex keeps the id that it gave, because it takes no other', async () => {
    const { fetch } = fetchOf([sseOf([parts(call('a', { id: 'v1' }), call('b')), stop])]);
    const provider = vertex({ model, project: 'p', location: 'global', accessToken: 't', fetch });
    const { item } = await provider.complete({ items: [question] }, { ids: countingIds() });
    expect(item.parts.map(({ providerState }) => providerState)).toEqual([
      { provider: 'vertex', model, data: { id: 'v1' } },
      undefined,
    ]);
  });
});
