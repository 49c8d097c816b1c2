import { countingIds, type Delta } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../contract/model-request.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { openaiChat } from './provider.ts';

const chunk = (delta: object, rest: object = {}) => ({
  id: 'r1',
  model: 'm-2',
  choices: [{ index: 0, delta, finish_reason: null, ...rest }],
});
const finish = (reason: string) => chunk({}, { finish_reason: reason });
const call = (fields: object) => chunk({ tool_calls: [fields] });

async function read(
  events: readonly (string | object)[],
  request: Partial<ModelRequest> = {},
  init?: ResponseInit,
) {
  const body = typeof events[0] === 'string' && events.length === 1 ? events[0] : sseOf(events);
  const { fetch } = fetchOf([body], init);
  const steps: Delta[] = [];
  const provider = openaiChat({ model: 'm', apiKey: 'k', fetch });
  const completion = await provider.complete(
    { items: [], ...request },
    { ids: countingIds(), onStep: ({ deltas }) => steps.push(...deltas) },
  );
  return { ...completion, deltas: steps, parts: completion.item.parts };
}

test('text, usage, model and the id of the response', async () => {
  const { text, stop, usage, model, responseId } = await read([
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Hello ' }),
    chunk({ content: 'you' }),
    finish('stop'),
    { id: 'r1', choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
  ]);
  expect({ text, stop, model, responseId }).toEqual({
    text: 'Hello you',
    stop: { reason: 'stop', raw: 'stop' },
    model: 'm-2',
    responseId: 'r1',
  });
  expect(usage).toMatchObject({ input: 3, output: 2, estimated: false });
});

test('missing usage is estimated and marked', async () => {
  const { usage } = await read([chunk({ content: 'x'.repeat(40) }), finish('stop')]);
  expect(usage).toMatchObject({ output: 10, estimated: true });
});

test('arguments are emitted as they arrive, and the start of a call before them', async () => {
  const { deltas } = await read([
    call({ index: 0, id: 'c1', function: { name: 'read', arguments: '' } }),
    call({ index: 0, function: { arguments: '{"a"' } }),
    call({ index: 0, function: { arguments: ':1}' } }),
    finish('tool_calls'),
  ]);
  expect(deltas.map(({ type }) => type)).toEqual([
    'begin_part',
    'append_text',
    'append_text',
    'commit_part',
  ]);
});

test('no call is committed before the terminal signal, also where its JSON already parses', async () => {
  const { deltas } = await read([
    call({ index: 0, id: 'c1', function: { name: 'f', arguments: '{}' } }),
    chunk({ content: 'x' }),
  ]);
  expect(deltas.some(({ type }) => type === 'retract_part')).toBe(true);
});

describe('structured output', () => {
  const output = { name: 'out', schema: { type: 'object' } };

  test('streams as JSON text and ends as a structured part', async () => {
    const { parts, deltas } = await read(
      [chunk({ content: '{"a":' }), chunk({ content: '1}' }), finish('stop')],
      { output },
    );
    expect(parts).toEqual([{ kind: 'structured', value: { a: 1 }, name: 'out' }]);
    expect(deltas[0]).toMatchObject({ kind: 'text', mimeType: 'application/json' });
  });

  test('stays text where it is not JSON, and is partial text where it was cut', async () => {
    const whole = await read([chunk({ content: 'Sorry' }), finish('stop')], { output });
    expect(whole.parts).toMatchObject([{ kind: 'text', text: 'Sorry' }]);
    const cut = await read([chunk({ content: '{"a":' })], { output });
    expect(cut.parts).toMatchObject([{ kind: 'text', text: '{"a":', partial: true }]);
  });
});

describe('servers that are not quite this wire', () => {
  const json = { headers: { 'content-type': 'application/json' } };

  test('a whole completion instead of a stream is taken', async () => {
    const body = {
      id: 'r',
      model: 'm',
      choices: [
        {
          message: {
            content: 'Hi',
            tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }],
          },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    };
    const { parts, stop } = await read([JSON.stringify(body)], {}, json);
    expect(parts).toMatchObject([{ text: 'Hi' }, { kind: 'tool_call', name: 'f' }]);
    expect(stop.reason).toBe('tool_use');
  });

  test('JSON that is neither is a protocol error', async () => {
    expect((await read(['{"ok":true}'], {}, json)).error?.kind).toBe('protocol_error');
  });

  test.each([
    ['OpenAI Responses', { type: 'response.created', response: {} }],
    ['Anthropic Messages', { type: 'message_start', message: {} }],
  ])('the stream of %s is recognized as another protocol', async (name, event) => {
    const { error } = await read([event]);
    expect(error?.kind).toBe('protocol_error');
    expect(error?.message).toContain(name);
  });

  test('E31: an event that is not JSON ends the turn, and keeps received text', async () => {
    const { error, parts } = await read([
      chunk({ content: 'Hi' }),
      '{"choices":[{"delta":{"content":"x"}]}',
    ]);
    expect(error?.kind).toBe('protocol_error');
    expect(parts).toMatchObject([{ text: 'Hi', partial: true }]);
  });

  test('E7: a call that never gets a name is a protocol error', async () => {
    expect(
      (
        await read([
          call({ index: 0, id: 'c1', function: { arguments: '{}' } }),
          finish('tool_calls'),
        ])
      ).error?.kind,
    ).toBe('protocol_error');
  });

  test('a fragment without a call is a protocol error', async () => {
    expect((await read([call({ function: { arguments: '{}' } })])).error?.kind).toBe(
      'protocol_error',
    );
  });

  test('ids that could not be stored are replaced', async () => {
    const { parts } = await read([
      call({ index: 0, id: 'x'.repeat(2000), function: { name: 'f', arguments: '{}' } }),
      finish('tool_calls'),
    ]);
    expect(parts).toMatchObject([{ toolCallId: 'call1' }]);
  });

  test('E2: a huge index costs nothing', async () => {
    const { parts } = await read([
      call({ index: 4_000_000_000, id: 'c', function: { name: 'f', arguments: '{}' } }),
      finish('tool_calls'),
    ]);
    expect(parts).toHaveLength(1);
  });

  test('E12: {} in two pieces before the real arguments is noticed at the end', async () => {
    const { parts } = await read([
      call({ index: 0, id: 'c', function: { name: 'f', arguments: '{' } }),
      call({ index: 0, function: { arguments: '}' } }),
      call({ index: 0, function: { arguments: '{"a":1}' } }),
      finish('tool_calls'),
    ]);
    expect(parts).toMatchObject([{ arguments: '{"a":1}', input: { a: 1 } }]);
  });
});

test('what a provider adds to a call goes back with it', async () => {
  const extra = { extra_content: { google: { thought_signature: 'sig' } } };
  const first = await read([
    call({ index: 0, id: 'c', function: { name: 'f', arguments: '{}' }, ...extra }),
    finish('tool_calls'),
  ]);
  const { fetch, requests } = fetchOf([]);
  await openaiChat({ model: 'm', apiKey: 'k', fetch }).complete({ items: [first.item] });
  expect(requests[0]?.body['messages']).toMatchObject([
    { tool_calls: [{ id: 'c', ...extra }] },
    {},
  ]);
});

test('OpenRouter’s cost is kept exactly', async () => {
  const { usage } = await read([
    finish('stop'),
    { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, cost: 0.00000725 } },
  ]);
  expect(usage.costs).toEqual([{ amount: '0.00000725', currency: 'USD' }]);
});

describe('calls that are hard to tell apart', () => {
  const namesAndArguments = async (events: readonly object[]) =>
    (await read([...events, finish('tool_calls')])).parts.map((part) =>
      part.kind === 'tool_call' ? [part.name, part.arguments] : part.kind,
    );
  const several = (...entries: object[]) => chunk({ tool_calls: entries });

  test('parallel calls stay in order when the first has no arguments', async () => {
    for (const empty of ['', '{}']) {
      const found = await namesAndArguments([
        call({ index: 0, id: 'a', function: { name: 'now', arguments: empty } }),
        call({ index: 1, id: 'b', function: { name: 'get', arguments: '{"x":1}' } }),
      ]);
      expect(found).toEqual([
        ['now', empty],
        ['get', '{"x":1}'],
      ]);
    }
  });

  test('E1, E10: without id and index, each chunk’s entries are calls of their own', async () => {
    const entry = (name: string, text: string) => ({ id: '', function: { name, arguments: text } });
    const found = await namesAndArguments([
      several(entry('f', '{"x":1}'), entry('g', '{"y":1}')),
      several(entry('f', '{"x":2}'), entry('g', '{"y":2}')),
    ]);
    expect(found).toEqual([
      ['f', '{"x":1}'],
      ['g', '{"y":1}'],
      ['f', '{"x":2}'],
      ['g', '{"y":2}'],
    ]);
  });

  test('E1: without names either, a chunk’s entries go on where the chunk before had them', async () => {
    const found = await namesAndArguments([
      several(
        { function: { name: 'f', arguments: '{"x"' } },
        { function: { name: 'g', arguments: '{"y"' } },
      ),
      several({ function: { arguments: ':1}' } }, { function: { arguments: ':2}' } }),
    ]);
    expect(found).toEqual([
      ['f', '{"x":1}'],
      ['g', '{"y":2}'],
    ]);
  });

  test('one id for several entries of a chunk is several calls', async () => {
    const found = await namesAndArguments([
      several(
        { index: 0, id: 'x', function: { name: 'f', arguments: '{"a":1}' } },
        { index: 1, id: 'x', function: { name: 'f', arguments: '{"a":2}' } },
      ),
    ]);
    expect(found).toEqual([
      ['f', '{"a":1}'],
      ['f', '{"a":2}'],
    ]);
  });

  test('one id at two indexes is two calls, also where there are no arguments yet', async () => {
    const found = await namesAndArguments([
      call({ index: 0, id: 'x', function: { name: 'ping', arguments: '' } }),
      call({ index: 1, id: 'x', function: { name: 'pong', arguments: '' } }),
    ]);
    expect(found).toEqual([
      ['ping', ''],
      ['pong', ''],
    ]);
  });
});

describe('what was cut short by a limit', () => {
  test.each(['length', 'content_filter'])(
    'E11: at %s a call without arguments is partial, not {}',
    async (reason) => {
      const { parts, stop } = await read([
        call({ index: 0, id: 'c', function: { name: 'wipe', arguments: '' } }),
        finish(reason),
      ]);
      expect(parts).toMatchObject([{ name: 'wipe', partial: true }]);
      expect(parts[0]).not.toHaveProperty('input');
      expect(stop.reason).toBe(reason);
    },
  );

  test('a call that was whole by then stays whole', async () => {
    const { parts } = await read([
      call({ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }),
      finish('length'),
    ]);
    expect(parts).toMatchObject([{ name: 'f', input: {} }]);
    expect(parts[0]).not.toHaveProperty('partial');
  });
});

test('OpenRouter’s details are one only where type, index and id say so', async () => {
  const detail = (fields: object) => chunk({ reasoning_details: [fields] });
  const encrypted = { type: 'reasoning.encrypted', format: 'x' };
  const { parts } = await read([
    detail({ ...encrypted, id: 'rs_1', data: 'AAAA' }),
    detail({ ...encrypted, id: 'rs_2', data: 'BBBB' }),
    detail({ type: 'reasoning.text', index: 0, id: 't1', text: 'one ' }),
    detail({ type: 'reasoning.text', index: 0, text: 'more' }),
    detail({ type: 'reasoning.text', index: 0, id: 't2', text: 'two' }),
    finish('stop'),
  ]);
  const details = parts.flatMap(({ providerState }) => {
    const { details: kept = [] } = (providerState?.data ?? {}) as { details?: object[] };
    return kept;
  });
  expect(details).toEqual([
    { ...encrypted, id: 'rs_1', data: 'AAAA' },
    { ...encrypted, id: 'rs_2', data: 'BBBB' },
    { type: 'reasoning.text', index: 0, id: 't1', text: 'one more' },
    { type: 'reasoning.text', index: 0, id: 't2', text: 'two' },
  ]);
});

test('reasoning in the middle of structured output leaves one document', async () => {
  const output = { name: 'out', schema: { type: 'object' } };
  const { parts } = await read(
    [
      chunk({ content: '{"a":' }),
      chunk({ reasoning_content: 'Hm' }),
      chunk({ content: '1}' }),
      finish('stop'),
    ],
    { output },
  );
  expect(parts).toMatchObject([
    { kind: 'structured', value: { a: 1 } },
    { kind: 'reasoning', text: 'Hm' },
  ]);
});

test('usage without a figure is no usage, and an empty error no error', async () => {
  const { usage, error } = await read([
    { ...chunk({ content: 'x' }), usage: {}, error: {} },
    finish('stop'),
  ]);
  expect(usage.estimated).toBe(true);
  expect(error).toBeUndefined();
});

test('a last chunk that repeats the whole message adds nothing', async () => {
  const whole = { choices: [{ index: 0, message: { content: 'Hi you' }, finish_reason: 'stop' }] };
  expect((await read([chunk({ content: 'Hi ' }), chunk({ content: 'you' }), whole])).text).toBe(
    'Hi you',
  );
});

test('an empty text in Mistral’s list does not split the reasoning', async () => {
  const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] });
  const { parts } = await read([
    chunk({ content: [thinking('a')] }),
    chunk({ content: [{ type: 'text', text: '' }, thinking('b')] }),
    finish('stop'),
  ]);
  expect(parts).toMatchObject([{ kind: 'reasoning', text: 'ab' }]);
});
