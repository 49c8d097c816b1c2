import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ScriptedServerError } from '../script.ts';
import type { WirePieces } from './answer-plan.ts';
import {
  type WireAnswer,
  type WireName,
  type WireStop,
  type WireUsage,
  wireNames,
} from './wire-answer.ts';
import { errorEvent, wireEvents } from './wire-events.ts';

/** JSON whose shape the tests know. */
type Json = ReturnType<typeof JSON.parse>;

const events = (wire: WireName, answer: WireAnswer, pieces: WirePieces = 'words'): Json[] =>
  wireEvents(wire, answer, { pieces }).map((event) => JSON.parse(event));

const call = { id: 'call_a', name: 'look', arguments: '{"at":"it"}' };
const usage: WireUsage = { input: 100, output: 20, cacheRead: 30, cacheWrite: 10, reasoning: 5 };

describe('openai-chat', () => {
  test('streams the role, the deltas, the finish and the usage', () => {
    const streamed = events('openai-chat', {
      reasoning: 'hm hm',
      text: 'So be it',
      toolCalls: [call],
      usage,
      model: 'm',
    });
    expect(streamed.map(({ choices }) => choices)).toEqual(
      [
        { role: 'assistant', content: '', refusal: null },
        { reasoning_content: 'hm' },
        { reasoning_content: ' hm' },
        { content: 'So' },
        { content: ' be' },
        { content: ' it' },
        {
          tool_calls: [
            { index: 0, id: 'call_a', type: 'function', function: { name: 'look', arguments: '' } },
          ],
        },
        { tool_calls: [{ index: 0, function: { arguments: '{"at":"it"}' } }] },
        {},
      ]
        .map((delta, at) => [
          { index: 0, delta, logprobs: null, finish_reason: at === 8 ? 'tool_calls' : null },
        ])
        .concat([[]]),
    );
    expect(streamed.map((chunk) => chunk.usage)).toEqual([
      ...Array.from({ length: 9 }, () => null),
      {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
    ]);
    expect(streamed.every(({ id, model }) => id === 'chatcmpl-scripted' && model === 'm')).toBe(
      true,
    );
  });

  test('sends no usage if there is none', () => {
    const streamed = events('openai-chat', { text: 'a' });
    expect(streamed.some((chunk) => 'usage' in chunk)).toBe(false);
    expect(streamed.at(-1).choices[0].finish_reason).toBe('stop');
  });

  test('streams a refusal in its own field', () => {
    const streamed = events('openai-chat', { text: 'I will not', stop: 'refusal' });
    const deltas = streamed.map(({ choices }) => choices[0].delta.refusal ?? '');
    expect(deltas.join('')).toBe('I will not');
    expect(streamed.at(-1).choices[0].finish_reason).toBe('stop');
  });

  test('ends with an error', () => {
    const failure = { type: 'server_error', message: 'Broken', code: 'c' };
    const streamed = events('openai-chat', { text: 'Hel', usage, failure });
    expect(streamed.slice(1)).toMatchObject([
      { choices: [{ delta: { content: 'Hel' } }] },
      { error: { type: 'server_error', message: 'Broken', code: 'c', param: null } },
    ]);
    expect(streamed).toHaveLength(3);
  });
});

describe('openai-responses', () => {
  const answer = { reasoning: 'hm', text: 'So be', toolCalls: [call], usage, signature: 's' };
  const at = { item_id: 'rs_scripted', output_index: 0, summary_index: 0 };
  const inText = { item_id: 'msg_scripted', output_index: 1, content_index: 0 };
  const inCall = { item_id: 'fc_scripted_1', output_index: 2 };
  const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
  const reasoning = {
    id: 'rs_scripted',
    type: 'reasoning',
    encrypted_content: 's',
    summary: [{ type: 'summary_text', text: 'hm' }],
  };
  const message = {
    id: 'msg_scripted',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [part('So be')],
  };
  const functionCall = {
    id: 'fc_scripted_1',
    type: 'function_call',
    status: 'completed',
    arguments: '{"at":"it"}',
    call_id: 'call_a',
    name: 'look',
  };

  test('streams numbered events for each item, and all items in the last event', () => {
    const streamed = events('openai-responses', answer);
    expect(streamed.map((event) => event.sequence_number)).toEqual(streamed.map((_, nth) => nth));
    const bare = streamed.map(({ sequence_number: _, ...event }) => event);
    expect(bare.slice(0, 2)).toMatchObject([
      { type: 'response.created', response: { id: 'resp_scripted', status: 'in_progress' } },
      { type: 'response.in_progress', response: { output: [], usage: null } },
    ]);
    expect(bare.slice(2, -1)).toEqual([
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...reasoning, encrypted_content: 'early-s', summary: [] },
      },
      {
        type: 'response.reasoning_summary_part.added',
        ...at,
        part: { type: 'summary_text', text: '' },
      },
      { type: 'response.reasoning_summary_text.delta', ...at, delta: 'hm' },
      { type: 'response.reasoning_summary_text.done', ...at, text: 'hm' },
      {
        type: 'response.reasoning_summary_part.done',
        ...at,
        part: { type: 'summary_text', text: 'hm' },
      },
      { type: 'response.output_item.done', output_index: 0, item: reasoning },
      {
        type: 'response.output_item.added',
        output_index: 1,
        item: { ...message, status: 'in_progress', content: [] },
      },
      { type: 'response.content_part.added', ...inText, part: part('') },
      { type: 'response.output_text.delta', ...inText, delta: 'So' },
      { type: 'response.output_text.delta', ...inText, delta: ' be' },
      { type: 'response.output_text.done', ...inText, text: 'So be' },
      { type: 'response.content_part.done', ...inText, part: part('So be') },
      { type: 'response.output_item.done', output_index: 1, item: message },
      {
        type: 'response.output_item.added',
        output_index: 2,
        item: { ...functionCall, status: 'in_progress', arguments: '' },
      },
      { type: 'response.function_call_arguments.delta', ...inCall, delta: '{"at":"it"}' },
      { type: 'response.function_call_arguments.done', ...inCall, arguments: '{"at":"it"}' },
      { type: 'response.output_item.done', output_index: 2, item: functionCall },
    ]);
    expect(bare.at(-1)).toMatchObject({
      type: 'response.completed',
      response: {
        status: 'completed',
        output: [reasoning, message, functionCall],
        usage: {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 30 },
          output_tokens: 20,
          output_tokens_details: { reasoning_tokens: 5 },
          total_tokens: 120,
        },
      },
    });
  });

  test('marks the last item and the response as incomplete after a limit', () => {
    const [last, done] = events('openai-responses', { ...answer, stop: 'length' }).reverse();
    expect(last).toMatchObject({
      type: 'response.incomplete',
      response: {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{}, { status: 'completed' }, { status: 'incomplete' }],
      },
    });
    expect(done.item.status).toBe('incomplete');
  });

  test('streams a refusal as its own kind of part', () => {
    const streamed = events('openai-responses', { text: 'I will', stop: 'refusal' });
    expect(streamed.slice(3, -2)).toMatchObject([
      { type: 'response.content_part.added', part: { type: 'refusal', refusal: '' } },
      { type: 'response.refusal.delta', delta: 'I' },
      { type: 'response.refusal.delta', delta: ' will' },
      { type: 'response.refusal.done', refusal: 'I will' },
      { type: 'response.content_part.done', part: { type: 'refusal', refusal: 'I will' } },
    ]);
    expect(streamed.at(-1).type).toBe('response.completed');
  });

  test('reports a failure with two events and leaves the open item open', () => {
    const failure = { type: 'insufficient_quota', message: 'No more' };
    const streamed = events('openai-responses', { text: 'Hel', failure });
    expect(streamed.slice(-3)).toMatchObject([
      { type: 'response.output_text.delta', delta: 'Hel' },
      { type: 'error', sequence_number: 5, error: { code: 'insufficient_quota' } },
      { type: 'response.failed', sequence_number: 6, response: { status: 'failed', output: [] } },
    ]);
    expect(streamed.at(-1).response.error).toEqual({ code: failure.type, message: 'No more' });
  });
});

describe('anthropic', () => {
  test('streams a message of blocks', () => {
    const streamed = events('anthropic', {
      reasoning: 'hm',
      text: 'So be',
      toolCalls: [call, { name: 'stop', arguments: '' }],
      usage,
      signature: 's',
      id: '7',
    });
    const delta = (index: number, change: object) => ({
      type: 'content_block_delta',
      index,
      delta: change,
    });
    expect(streamed[0]).toMatchObject({
      type: 'message_start',
      message: {
        id: 'msg_7',
        role: 'assistant',
        content: [],
        stop_reason: null,
        usage: {
          input_tokens: 60,
          cache_read_input_tokens: 30,
          cache_creation_input_tokens: 10,
          output_tokens: 1,
        },
      },
    });
    expect(streamed.slice(1)).toEqual([
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
      { type: 'ping' },
      delta(0, { type: 'thinking_delta', thinking: 'hm' }),
      delta(0, { type: 'signature_delta', signature: 's' }),
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      delta(1, { type: 'text_delta', text: 'So' }),
      delta(1, { type: 'text_delta', text: ' be' }),
      { type: 'content_block_stop', index: 1 },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'call_a', name: 'look', input: {} },
      },
      delta(2, { type: 'input_json_delta', partial_json: '' }),
      delta(2, { type: 'input_json_delta', partial_json: '{"at":"it"}' }),
      { type: 'content_block_stop', index: 2 },
      {
        type: 'content_block_start',
        index: 3,
        content_block: { type: 'tool_use', id: 'toolu_7_2', name: 'stop', input: {} },
      },
      delta(3, { type: 'input_json_delta', partial_json: '' }),
      { type: 'content_block_stop', index: 3 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: {
          input_tokens: 60,
          cache_read_input_tokens: 30,
          cache_creation_input_tokens: 10,
          output_tokens: 20,
        },
      },
      { type: 'message_stop' },
    ]);
  });

  test('streams one word in seven events', () => {
    expect(wireEvents('anthropic', { text: 'Hello' })).toHaveLength(7);
  });

  test('ends with an error in an open block', () => {
    const failure = { type: 'overloaded_error', message: 'Overloaded' };
    const streamed = events('anthropic', { text: 'Hel', toolCalls: [call], failure });
    expect(streamed.slice(-3).map(({ type }) => type)).toEqual([
      'content_block_delta',
      'content_block_delta',
      'error',
    ]);
    expect(streamed.at(-1).error).toEqual(failure);
    expect(streamed.filter(({ type }) => type === 'content_block_stop')).toHaveLength(1);
  });
});

describe('gemini', () => {
  test('streams whole parts, the calls together, and the stop in the last event', () => {
    const streamed = events('gemini', {
      reasoning: 'hm',
      text: 'So be',
      toolCalls: [call, { name: 'stop', arguments: '' }],
      usage,
      signature: 's',
      model: 'g',
    });
    expect(streamed.map(({ candidates }) => candidates[0].content.parts)).toEqual([
      [{ text: 'hm', thought: true }],
      [{ text: 'So' }],
      [{ text: ' be' }],
      [
        {
          functionCall: { name: 'look', args: { at: 'it' }, id: 'call_a' },
          thoughtSignature: 's',
        },
        { functionCall: { name: 'stop' } },
      ],
      [{ text: '' }],
    ]);
    expect(streamed.map(({ candidates }) => candidates[0].finishReason)).toEqual([
      ...[undefined, undefined, undefined, undefined],
      'STOP',
    ]);
    expect(streamed[0].usageMetadata).toEqual({ promptTokenCount: 100, totalTokenCount: 100 });
    expect(streamed.at(-1)).toMatchObject({
      modelVersion: 'g',
      usageMetadata: {
        promptTokenCount: 100,
        cachedContentTokenCount: 30,
        candidatesTokenCount: 15,
        thoughtsTokenCount: 5,
        totalTokenCount: 120,
      },
    });
  });

  test('signs the last part if there is no call', () => {
    const last = events('gemini', { text: 'a', signature: 's', stop: 'length' }).at(-1);
    expect(last.candidates[0]).toMatchObject({
      content: { parts: [{ text: '', thoughtSignature: 's' }] },
      finishReason: 'MAX_TOKENS',
    });
  });

  test.each(['[1]', '{"a":', 'null', '1'])('cannot send the arguments %s', (text) => {
    const answer = { toolCalls: [{ name: 'look', arguments: text }] };
    expect(() => wireEvents('gemini', answer)).toThrow(ScriptedServerError);
  });

  test('ends with an error', () => {
    const failure = { type: 'UNAVAILABLE', message: 'Later' };
    expect(events('gemini', { text: 'a', failure }).at(-1)).toEqual({
      error: { code: 503, message: 'Later', status: 'UNAVAILABLE' },
    });
  });
});

describe('stops', () => {
  const stopOf = (wire: WireName, stop: WireStop): string => {
    const streamed = events(wire, { text: 'a', stop });
    switch (wire) {
      case 'openai-chat':
        return streamed.at(-1).choices[0].finish_reason;
      case 'openai-responses':
        return streamed.at(-1).response.incomplete_details?.reason ?? streamed.at(-1).type;
      case 'anthropic':
        return streamed.at(-2).delta.stop_reason;
      case 'gemini':
        return streamed.at(-1).candidates[0].finishReason;
    }
  };

  test.each<[WireName, WireStop, string]>([
    ['openai-chat', 'length', 'length'],
    ['openai-chat', 'content_filter', 'content_filter'],
    ['openai-responses', 'stop', 'response.completed'],
    ['openai-responses', 'content_filter', 'content_filter'],
    ['anthropic', 'stop', 'end_turn'],
    ['anthropic', 'length', 'max_tokens'],
    ['anthropic', 'refusal', 'refusal'],
    ['anthropic', 'pause', 'pause_turn'],
    ['gemini', 'stop', 'STOP'],
    ['gemini', 'content_filter', 'SAFETY'],
  ])('%s has for %s the word %s', (wire, stop, word) => {
    expect(stopOf(wire, stop)).toBe(word);
  });

  test.each(wireNames)('%s accepts a raw stop reason', (wire) => {
    expect(stopOf(wire, { raw: 'eos' })).toBe('eos');
  });

  test.each<[WireName, WireStop]>([
    ['openai-chat', 'pause'],
    ['openai-responses', 'pause'],
    ['gemini', 'pause'],
    ['gemini', 'refusal'],
  ])('%s has no stop reason for %s', (wire, stop) => {
    expect(() => stopOf(wire, stop)).toThrow(`${wire} has no stop reason`);
  });
});

test.each(wireNames)('%s sends the same error event as errorEvent', (wire) => {
  const failure = { type: 'overloaded', message: 'Too much' };
  const streamed = wireEvents(wire, { failure });
  const place = wire === 'openai-responses' ? streamed.length - 2 : streamed.length - 1;
  expect(streamed[place]).toBe(errorEvent(wire, failure, place));
  expect(streamed[place]).toContain('Too much');
});

/** Reads an answer back from the events in the simplest way. */
const readers: Record<WireName, (streamed: readonly Json[]) => WireAnswer> = {
  'openai-chat': (streamed) => {
    const deltas = streamed.flatMap(({ choices }) => choices).map(({ delta }) => delta);
    const fragments = deltas.flatMap((delta) => delta.tool_calls ?? []);
    const starts = fragments.filter((fragment) => 'id' in fragment);
    return {
      reasoning: deltas.map((delta) => delta.reasoning_content ?? '').join(''),
      text: deltas.map((delta) => delta.content ?? '').join(''),
      toolCalls: starts.map(({ id, index, function: { name } }) => ({
        id,
        name,
        arguments: fragments
          .filter((fragment) => fragment.index === index)
          .map((fragment) => fragment.function.arguments)
          .join(''),
      })),
    };
  },
  'openai-responses': (streamed) => {
    const joined = (type: string, index?: number) =>
      streamed
        .filter(
          (event) => event.type === type && (index ?? event.output_index) === event.output_index,
        )
        .map(({ delta }) => delta)
        .join('');
    const starts = streamed.filter(({ type }) => type === 'response.output_item.added');
    return {
      reasoning: joined('response.reasoning_summary_text.delta'),
      text: joined('response.output_text.delta'),
      toolCalls: starts
        .filter(({ item }) => item.type === 'function_call')
        .map(({ item, output_index }) => ({
          id: item.call_id,
          name: item.name,
          arguments: joined('response.function_call_arguments.delta', output_index),
        })),
    };
  },
  anthropic: (streamed) => {
    const joined = (field: string, index?: number) =>
      streamed
        .filter((event) => event.delta && (index ?? event.index) === event.index)
        .map(({ delta }) => delta[field] ?? '')
        .join('');
    const starts = streamed.filter(({ type }) => type === 'content_block_start');
    return {
      reasoning: joined('thinking'),
      text: joined('text'),
      toolCalls: starts
        .filter(({ content_block }) => content_block.type === 'tool_use')
        .map(({ content_block: { id, name }, index }) => ({
          id,
          name,
          arguments: joined('partial_json', index),
        })),
    };
  },
  gemini: (streamed) => {
    const parts = streamed.flatMap(({ candidates }) => candidates[0].content.parts);
    const texts = (isThought: boolean) =>
      parts.filter((part) => Boolean(part.thought) === isThought).map(({ text }) => text ?? '');
    return {
      reasoning: texts(true).join(''),
      text: texts(false).join(''),
      toolCalls: parts
        .filter((part) => part.functionCall)
        .map(({ functionCall: { id, name, args } }) => ({
          id,
          name,
          arguments: args === undefined ? '' : JSON.stringify(args),
        })),
    };
  },
};

test.each(wireNames)('%s streams any answer completely, with any split', (wire) => {
  const text = fc.string({ unit: 'binary' });
  const input = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.jsonValue());
  const callOf = fc.record({
    id: fc.uuid(),
    name: fc.constantFrom('look', 'stop'),
    arguments: fc.oneof(
      fc.constant(''),
      input.map((value) => JSON.stringify(value)),
    ),
  });
  const answer = fc.record({
    reasoning: text,
    text,
    toolCalls: fc.array(callOf, { maxLength: 3 }),
  });
  const pieces = fc.constantFrom<WirePieces>('whole', 'words', 'characters', 'code-units', 3);
  fc.assert(
    fc.property(answer, pieces, (sent, how) => {
      expect(readers[wire](events(wire, sent, how))).toEqual(sent);
    }),
  );
});

const folder = fileURLToPath(new URL('../../../../../../shared/recordings', import.meta.url));

describe.skipIf(!existsSync(folder))('beside the shared recordings (skipped without them)', () => {
  /**
   * Every path of keys, with the kind of event or block that contains it. Array indexes are
   * ignored.
   */
  function* paths(value: Json, path: string): Generator<string> {
    if (Array.isArray(value)) for (const child of value) yield* paths(child, `${path}[]`);
    else if (typeof value === 'object' && value !== null) {
      const kind = typeof value.type === 'string' ? `<${value.type}>` : '';
      for (const key of Object.keys(value)) yield* paths(value[key], `${path}${kind}.${key}`);
    } else yield path;
  }

  const recorded = (wire: WireName) =>
    globSync(join(folder, wire, '*.txt'))
      .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));

  // Fields that no shared recording has: reasoning summaries and cache usage.
  const unseen: Partial<Record<WireName, RegExp>> = {
    'openai-responses': /reasoning_summary|summary\[\]/,
    gemini: /cachedContentTokenCount|thought$|functionCall.id/,
  };

  test.each(wireNames)('%s has only fields of the real wire', (wire) => {
    const known = new Set(recorded(wire).flatMap((event) => [...paths(event, '')]));
    const own = events(wire, {
      reasoning: 'a',
      text: 'b',
      toolCalls: [{ id: 'c', name: 'weather', arguments: '{"location":"d"}' }],
      usage,
    }).flatMap((event) => [...paths(event, '')]);
    const foreign = own.filter((path) => !known.has(path) && !unseen[wire]?.test(path));
    expect([...new Set(foreign)]).toEqual([]);
  });
});
