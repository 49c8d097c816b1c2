import { countingIds, DeltaWriter, itemId, noUsage, partId, toolCallId } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Stream, StreamStep } from '../contract/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { scriptedProvider } from '../scripted/scripted-provider.ts';
import { type ScriptedServer, startScriptedServer, streamReply } from '../scripted-server/index.ts';
import {
  finishEvent,
  sseText,
  textEvent,
  toolCallEvent,
  usageEvent,
} from '../testing/chat-events.ts';
import { helloItems } from '../testing/hello-items.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { complete } from './complete.ts';
import { createProvider } from './create-provider.ts';

let server: ScriptedServer;
const clock = new VirtualClock();
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(() => server.close());

const chat = () => openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock });
const request = { items: helloItems };

describe('complete', () => {
  test('gives the item, its text, why it stopped and what it used', async () => {
    const events = [
      textEvent('Hello'),
      textEvent(' you'),
      toolCallEvent('{"a":1}', 'add'),
      finishEvent('tool_calls'),
    ];
    server.reply(streamReply([sseText(...events, usageEvent)]));
    const { item, text, stop, usage, error } = await chat().complete(request, {
      ids: countingIds(),
    });
    expect(text).toBe('Hello you');
    expect(item).toMatchObject({
      kind: 'assistant',
      parts: [
        { kind: 'text', text: 'Hello you' },
        { kind: 'tool_call', toolCallId: 'call_1', name: 'add', input: { a: 1 } },
      ],
    });
    expect(stop).toEqual({ reason: 'tool_use', raw: 'tool_calls' });
    expect(usage).toMatchObject({ input: 11, output: 7 });
    expect(error).toBeUndefined();
  });

  test('joins the texts of several parts, and leaves reasoning out', async () => {
    const thought = '{"choices":[{"index":0,"delta":{"reasoning_content":"Hm"}}]}';
    server.reply(streamReply([sseText(textEvent('a'), thought, textEvent('b'), finishEvent())]));
    const { text, item } = await chat().complete(request);
    expect(text).toBe('ab');
    expect(item.parts.map(({ kind }) => kind)).toEqual(['text', 'reasoning', 'text']);
  });

  test('resolves for an error too, with what had come by then', async () => {
    server.reply(streamReply([sseText(textEvent('a'), '{"error":"no"}')]));
    const { text, item, stop, error } = await chat().complete(request);
    expect(text).toBe('a');
    expect(item.parts).toEqual([{ kind: 'text', text: 'a', partial: true }]);
    expect(stop.reason).toBe('error');
    expect(error?.kind).toBe('server');
  });

  test('tells of each step when it is folded', async () => {
    server.reply(streamReply([sseText(textEvent('a')), sseText(textEvent('b'), finishEvent())]));
    const steps: StreamStep[] = [];
    const { stop, usage } = await chat().complete(request, { onStep: (step) => steps.push(step) });
    expect(steps.at(-1)?.end).toEqual({ stop, usage });
    expect(steps.slice(0, -1).every(({ end }) => end === undefined)).toBe(true);
  });

  test('may be asked twice of one provider, and each has its own', async () => {
    server.reply(
      streamReply([sseText(textEvent('a'), finishEvent())]),
      streamReply([sseText(textEvent('b'), finishEvent())]),
    );
    const provider = chat();
    const first = await provider.complete(request);
    const second = await provider.complete(request);
    expect([first.text, second.text]).toEqual(['a', 'b']);
    expect(first.item.id).not.toBe(second.item.id);
  });

  test('waits for who hears of steps, and rejects with them, having left the stream', async () => {
    const heard: string[] = [];
    const { provider, wasLeft } = streamOf([{ deltas: [] }, { deltas: [], end }]);
    await complete(provider, request, {
      onStep: async (step) => {
        heard.push('begun');
        await Promise.resolve();
        heard.push(step.end === undefined ? 'step' : 'end');
      },
    });
    expect(heard).toEqual(['begun', 'step', 'begun', 'end']);
    expect(wasLeft()).toBe(false);
    for (const onStep of [
      () => Promise.reject(new RangeError('no')),
      () => {
        throw new RangeError('no');
      },
    ]) {
      const left = streamOf([{ deltas: [] }, { deltas: [], end }]);
      await expect(complete(left.provider, request, { onStep })).rejects.toThrow(RangeError);
      expect(left.wasLeft()).toBe(true);
    }
  });

  test('gives the value that was asked for by a schema', async () => {
    server.reply(
      streamReply([sseText(textEvent('{"a":'), textEvent('1}'), finishEvent())]),
      streamReply([sseText(textEvent('a'), finishEvent())]),
    );
    const output = { name: 'answer', schema: {} };
    expect(await chat().complete({ items: helloItems, output })).toMatchObject({
      value: { a: 1 },
      text: '',
    });
    expect(await chat().complete(request)).not.toHaveProperty('value');
  });
});

const end = { stop: { reason: 'stop' }, usage: { ...noUsage, output: 3 } } as const;

/** A provider with these steps. It records whether the reader left before the end. */
function streamOf(steps: readonly StreamStep[]) {
  let wasLeft = true;
  const stream: Stream = async function* () {
    yield* steps;
    wasLeft = false;
  };
  return { provider: createProvider('broken', 'm', stream), wasLeft: () => wasLeft };
}

describe('what cannot be folded is a broken provider, and an error:', () => {
  const texts = (...chunks: readonly string[]) =>
    scriptedProvider([{ content: { parts: chunks }, pieces: 'whole' }]);

  test('steps of another item', async () => {
    const steps: StreamStep[] = [];
    await texts('a').complete(request, { onStep: (step) => steps.push(step) });
    const { error, stop, text, item } = await streamOf(steps).provider.complete(request);
    expect(stop).toEqual({ reason: 'error', cause: 'protocol_error' });
    expect(error).toMatchObject({ kind: 'protocol_error', provider: 'broken' });
    expect(error?.message).toContain('unknown_item');
    expect({ text, parts: item.parts }).toEqual({ text: '', parts: [] });
  });

  test('steps in the wrong order, after which what had come is there', async () => {
    const provider = scriptedProvider([
      { content: { parts: ['abcd'] }, fault: { type: 'swap', after: 2 } },
    ]);
    const { error, item } = await provider.complete(request);
    expect(error).toMatchObject({ kind: 'protocol_error', provider: 'scripted' });
    expect(item.parts).toEqual([{ kind: 'text', text: 'ab', partial: true }]);
    expect(item.stop).toEqual({ reason: 'error', cause: 'protocol_error' });
  });

  test('a delta in the middle of a step, before which all counts, and then the stream is left', async () => {
    const writer = new DeltaWriter({
      itemId: itemId('item1'),
      turn: 1,
      attempt: 1,
      ids: countingIds(),
    });
    writer.whole({ kind: 'text', text: 'whole' });
    writer.toolCall(toolCallId('c'), 'add').append('{');
    writer.text().append('open');
    const wrong = { type: 'append_text', partId: partId(1, 1, 'none'), at: 0, chunk: 'x' } as const;
    const { provider, wasLeft } = streamOf([
      { deltas: [...writer.take(), wrong] },
      { deltas: [], end },
    ]);
    const { item, error, usage } = await provider.complete(request, { ids: countingIds() });
    expect(item.parts).toEqual([
      { kind: 'text', text: 'whole' },
      { kind: 'text', text: 'open', partial: true },
    ]);
    expect(error?.message).toContain('unknown_part');
    expect(usage).toEqual({ ...noUsage, estimated: true });
    expect(wasLeft()).toBe(true);
  });

  test('no end, a step after the end, and parts that are open at the end', async () => {
    const opened: Stream = async function* (_, { item, ids }) {
      const writer = new DeltaWriter({ itemId: item.id, ...item, ids });
      writer.text().append('a');
      yield { deltas: writer.take(), end };
    };
    const broken = [
      ['no end step', streamOf([{ deltas: [] }]).provider],
      ['after the end', streamOf([{ deltas: [], end }, { deltas: [] }]).provider],
      ['open at the end', createProvider('broken', 'm', opened)],
    ] as const;
    for (const [saying, provider] of broken) {
      const { error, stop } = await provider.complete(request);
      expect(error?.message).toContain(saying);
      expect(stop).toEqual({ reason: 'error', cause: 'protocol_error' });
    }
    const { text, usage, item } = await broken[2][1].complete(request);
    expect(text).toBe('a');
    expect(item.parts[0]?.partial).toBe(true);
    expect(usage.output).toBe(3);
  });
});

test('a provider is an id, a model and what streams', async () => {
  const stream = chat().stream;
  const provider = createProvider('id', 'model', stream);
  expect(provider).toMatchObject({ id: 'id', model: 'model' });
  server.reply(streamReply([sseText(textEvent('a'), finishEvent())]));
  expect((await provider.complete(request)).text).toBe('a');
});
