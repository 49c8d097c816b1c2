import { countingIds } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openaiChat } from '../openai-chat/provider.ts';
import { type ScriptedServer, startScriptedServer, streamReply } from '../scripted-server/index.ts';
import { called, finished, framed, said, used } from '../testing/chat-events.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { complete } from './complete.ts';
import { createProvider } from './create-provider.ts';
import type { Stream, StreamStep } from './provider.ts';

let server: ScriptedServer;
const clock = new VirtualClock();
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(() => server.close());

const chat = () => openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock });
const request = { items: [] };

describe('complete', () => {
  test('gives the item, its text, why it stopped and what it used', async () => {
    const events = [said('Hello'), said(' you'), called('{"a":1}', 'add'), finished('tool_calls')];
    server.reply(streamReply([framed(...events, used)]));
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
    server.reply(streamReply([framed(said('a'), thought, said('b'), finished())]));
    const { text, item } = await chat().complete(request);
    expect(text).toBe('ab');
    expect(item.parts.map(({ kind }) => kind)).toEqual(['text', 'reasoning', 'text']);
  });

  test('resolves for an error too, with what had come by then', async () => {
    server.reply(streamReply([framed(said('a'), '{"error":"no"}')]));
    const { text, item, stop, error } = await chat().complete(request);
    expect(text).toBe('a');
    expect(item.parts).toEqual([{ kind: 'text', text: 'a', partial: true }]);
    expect(stop.reason).toBe('error');
    expect(error?.kind).toBe('server');
  });

  test('tells of each step when it is folded', async () => {
    server.reply(streamReply([framed(said('a')), framed(said('b'), finished())]));
    const steps: StreamStep[] = [];
    const { stop, usage } = await chat().complete(request, { onStep: (step) => steps.push(step) });
    expect(steps.at(-1)?.end).toEqual({ stop, usage });
    expect(steps.slice(0, -1).every(({ end }) => end === undefined)).toBe(true);
  });

  test('may be asked twice of one provider, and each has its own', async () => {
    server.reply(
      streamReply([framed(said('a'), finished())]),
      streamReply([framed(said('b'), finished())]),
    );
    const provider = chat();
    const first = await provider.complete(request);
    const second = await provider.complete(request);
    expect([first.text, second.text]).toEqual(['a', 'b']);
    expect(first.item.id).not.toBe(second.item.id);
  });

  test('refuses a stream without an end, which only a mistake makes', async () => {
    const endless: Stream = async function* () {
      yield { deltas: [] };
    };
    await expect(complete(endless, request)).rejects.toThrow('no end step');
  });
});

test('a provider is an id, a model and what streams', async () => {
  const stream = chat().stream;
  const provider = createProvider('id', 'model', stream);
  expect(provider).toMatchObject({ id: 'id', model: 'model', stream });
  server.reply(streamReply([framed(said('a'), finished())]));
  expect((await provider.complete(request)).text).toBe('a');
});
