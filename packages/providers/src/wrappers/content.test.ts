import {
  countingIds,
  type Item,
  itemId,
  type JsonValue,
  type Part,
  toolCallId,
} from '@millrace/core';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { scriptedProvider } from '../scripted/index.ts';
import {
  errorReply,
  newGate,
  type ScriptedServer,
  startScriptedServer,
  streamReply,
} from '../scripted-server/index.ts';
import {
  finishEvent,
  sseText,
  textEvent,
  toolCallEvent,
  usageEvent,
} from '../testing/chat-events.ts';
import { openStream } from '../testing/open-stream.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { type AnswerPiece, blockContent } from './block-content.ts';
import { cacheAnswers, memoryAnswerStore } from './cache-answers.ts';
import { logRequests, type RequestLogEntry } from './log-requests.ts';
import { redactText } from './redact-text.ts';

// Wrappers that answer, log, change or stop content.

let server: ScriptedServer;
const clock = new VirtualClock();
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(async () => {
  await server.close();
});

const chat = (): Provider =>
  openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock });
let count = 0;
const user = (...parts: readonly Part[]): Item => ({
  id: itemId(`u${++count}`),
  kind: 'user',
  parts,
});
const asking = (text = 'Weather?'): ModelRequest => ({ items: [user({ kind: 'text', text })] });
const answer = (...texts: readonly string[]) =>
  streamReply([
    ...texts.map((text) => sseText(textEvent(text))),
    sseText(finishEvent(), usageEvent),
  ]);
const bodyOf = (index: number) => server.requests[index]?.body as JsonValue;

describe('19: a cache of answers', () => {
  test('answers an equal request without the provider, for nothing', async () => {
    server.reply(answer('Sun', 'ny'));
    const cached = cacheAnswers(chat());
    const once = await cached.complete(asking());
    const again = await cached.complete(asking(), { ids: countingIds() });
    expect(server.requests).toHaveLength(1);
    expect(once.details?.fromCache).toBeUndefined();
    expect(again).toMatchObject({
      text: 'Sunny',
      stop: once.stop,
      usage: { input: 0, output: 0, estimated: false },
      details: { fromCache: true },
    });
    expect(again.item.parts).toEqual(once.item.parts);
    expect(again.item.id).not.toBe(once.item.id);
  });

  test('asks again if the content, a setting, the model or the provider differs', async () => {
    const store = memoryAnswerStore();
    const cached = cacheAnswers(chat(), { store });
    const other = cacheAnswers(openaiChat({ model: 'm2', baseUrl: server.url, apiKey: 'nobody' }), {
      store,
    });
    server.reply(answer('1'), answer('2'), answer('3'), answer('4'));
    const texts = [
      await cached.complete(asking()),
      await cached.complete(asking('Tide?')),
      await cached.complete({ ...asking(), temperature: 0 }),
      await other.complete(asking()),
      await cached.complete({ ...asking(), cache: { upTo: [] } }),
    ].map(({ text }) => text);
    expect(texts).toEqual(['1', '2', '3', '4', '1']);
  });

  test('keeps calls, and never errors, aborts or answers that were cut', async () => {
    const cached = cacheAnswers(chat());
    const call = streamReply([
      sseText(toolCallEvent('{"city":"Brest"}', 'weather'), finishEvent('tool_calls')),
    ]);
    server.reply(call);
    const once = await cached.complete(asking('call'));
    const again = await cached.complete(asking('call'));
    expect(again.item.parts).toEqual(once.item.parts);
    expect(again.stop.reason).toBe('tool_use');
    const long = () => streamReply([sseText(textEvent('Sun'), finishEvent('length'))]);
    server.reply(
      errorReply('openai-chat', 503, { type: 'overloaded', message: 'busy' }),
      long(),
      long(),
    );
    await cached.complete(asking());
    await cached.complete(asking());
    await cached.complete(asking());
    expect(server.requests).toHaveLength(4);
    server.assertUsedUp();
  });

  test('survives a store that fails or holds something else', async () => {
    const errors: unknown[] = [];
    const store = {
      get: (key: string) => (key.length === 64 ? '{"not":"an answer"}' : undefined),
      set: () => Promise.reject(new Error('full')),
    };
    server.reply(answer('Sunny'));
    const cached = cacheAnswers(chat(), { store, onStoreError: (error) => errors.push(error) });
    expect((await cached.complete(asking())).text).toBe('Sunny');
    expect(errors).toHaveLength(2);
  });

  test('is bounded by entries and by length, and drops the least recently used', () => {
    const store = memoryAnswerStore({ maxEntries: 2, maxLength: 10 });
    void store.set('a', 'aaa');
    void store.set('b', 'bbb');
    expect(store.get('a')).toBe('aaa');
    void store.set('c', 'ccc');
    expect([store.get('a'), store.get('b'), store.get('c')]).toEqual(['aaa', undefined, 'ccc']);
    void store.set('d', 'd'.repeat(8));
    expect([store.get('a'), store.get('c'), store.get('d')]).toEqual([
      undefined,
      undefined,
      'dddddddd',
    ]);
    void store.set('d', 'd'.repeat(11));
    expect(store.get('d')).toBeUndefined();
  });

  test('does not store an answer that is too long', async () => {
    server.reply(answer('Sunny'), answer('Sunny'));
    const cached = cacheAnswers(chat(), { maxAnswerLength: 4 });
    await cached.complete(asking());
    await cached.complete(asking());
    expect(server.requests).toHaveLength(2);
  });
});

describe('19: a log of requests', () => {
  const logged = (entries: RequestLogEntry[]) =>
    logRequests(chat(), { log: (entry) => entries.push(entry), clock });

  test('has the start, the first delta and the end, with durations and without content', async () => {
    const [begin, end] = [newGate(), newGate()];
    server.reply(
      streamReply([
        { type: 'wait', for: begin },
        sseText(textEvent('Sunny')),
        { type: 'wait', for: end },
        sseText(finishEvent(), usageEvent),
      ]),
    );
    const entries: RequestLogEntry[] = [];
    const stream = openStream(logged(entries), undefined, asking());
    const first = stream.next();
    await begin.reached;
    clock.advance(120);
    begin.open();
    await first;
    await end.reached;
    clock.advance(80);
    end.open();
    await stream.rest();
    const head = { model: 'm', turn: 1, attempt: 1 };
    expect(entries).toMatchObject([
      { ...head, type: 'request_started', items: 1, tools: 0 },
      { ...head, type: 'first_delta', afterMs: 120 },
      {
        ...head,
        type: 'request_finished',
        afterMs: 200,
        stop: { reason: 'stop' },
        usage: { output: 7 },
      },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/Weather|Sunny|nobody/);
  });

  test('has errors as data, and a caller that left', async () => {
    server.reply(
      errorReply('openai-chat', 503, { type: 'overloaded', message: 'busy' }),
      streamReply([{ type: 'stall' }]),
    );
    const entries: RequestLogEntry[] = [];
    const provider = logged(entries);
    await provider.complete(asking());
    expect(entries.at(-1)).toMatchObject({ error: { kind: 'overloaded', status: 503 } });
    await server.nextRequest();
    const stream = openStream(provider, undefined, asking());
    const step = stream.next();
    const left = await server.nextRequest();
    await stream.close();
    await step;
    expect(await left.closed).toBe('client');
    expect(
      entries.filter(({ type }) => type === 'request_finished' || type === 'request_left'),
    ).toHaveLength(2);
  });

  test('that throws changes nothing', async () => {
    server.reply(answer('Sunny'));
    const broken = logRequests(chat(), {
      log: () => {
        throw new Error('disk full');
      },
    });
    expect((await broken.complete(asking())).text).toBe('Sunny');
  });
});

describe('19: redaction', () => {
  const rules = [{ pattern: /\bsk-[a-z0-9]{4,8}\b/, maxLength: 13 }];

  test('finds a key that is split over many deltas, and holds back only its length', async () => {
    const texts = ['The key is s', 'k', '-ab', 'cd ', 'and that is all there is to say about it.'];
    const gates = texts.map(() => newGate());
    server.reply(
      streamReply([
        ...texts.flatMap((text, index) => [
          sseText(textEvent(text)),
          { type: 'wait', for: gates[index] ?? newGate() } as const,
        ]),
        sseText(finishEvent()),
      ]),
    );
    let shown = '';
    const completing = redactText(chat(), { rules }).complete(asking(), {
      onStep: ({ deltas }) => {
        for (const delta of deltas) if (delta.type === 'append_text') shown += delta.chunk;
      },
    });
    for (const gate of gates.slice(0, -1)) {
      await gate.reached;
      gate.open();
    }
    await gates.at(-1)?.reached;
    const partial = shown;
    gates.at(-1)?.open();
    const { text } = await completing;
    expect(text).toBe('The key is [redacted] and that is all there is to say about it.');
    expect(text.startsWith(partial)).toBe(true);
  });

  test('of any text, split anywhere, is the redaction of the whole text', async () => {
    const word = fc.constantFrom('sk-', 'abcd', 'x', ' ', '12', '-', 'a', '😀', 'sk-abcd');
    const streamed = [
      { pattern: /\bsk-[a-z0-9]{4,8}\b/, maxLength: 13 },
      { pattern: /(?<!a)\d{2,4}(?=-)/u, maxLength: 6, replacement: '#' },
      { pattern: 'x x', replacement: '' },
    ];
    const whole = (text: string) =>
      text
        .replaceAll(/\bsk-[a-z0-9]{4,8}\b/g, '[redacted]')
        .replaceAll(/(?<!a)\d{2,4}(?=-)/gu, '#')
        .replaceAll('x x', '');
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 40 }), fc.nat(), async (words, seed) => {
        const text = words.join('');
        if (text === '') return;
        const response = { content: { parts: [text] }, pieces: { seed } } as const;
        const provider = redactText(scriptedProvider([response]), { rules: streamed });
        expect((await provider.complete(asking())).text).toBe(whole(text));
      }),
      { numRuns: runs(300) },
    );
  });

  test('holds back no more than its rules say', async () => {
    const text = 'a'.repeat(2000);
    const response = { content: { parts: [text] }, pieces: 'character' } as const;
    const stream = openStream(redactText(scriptedProvider([response]), { rules }));
    let [read, shown] = [0, 0];
    let isEnding = false;
    for (const step of await stream.rest()) {
      read += 1;
      shown += lengthOf(step);
      isEnding ||= shown === text.length;
      // The first step begins the part. Each further one brings one character.
      if (!isEnding) expect(read - shown).toBeLessThanOrEqual(13 + 1);
    }
    expect(shown).toBe(text.length);
  });

  test('covers what is sent: texts, results, arguments and values, but not ids', async () => {
    server.reply(answer('Sunny'));
    const id = toolCallId('call_sk-abcd');
    const secret = 'sk-abcd';
    const items: Item[] = [
      user({ kind: 'text', text: `My key is ${secret}` }),
      {
        id: itemId('a1'),
        kind: 'assistant',
        parts: [
          { kind: 'tool_call', toolCallId: id, name: 'login', arguments: `{"key":"${secret}"}` },
        ],
      },
      {
        id: itemId('t1'),
        kind: 'tool',
        parts: [
          {
            kind: 'tool_result',
            toolCallId: id,
            name: 'login',
            text: `used ${secret}`,
            isError: false,
          },
        ],
      },
    ];
    const bytes = new TextEncoder().encode(`The key is ${secret}`);
    const source = { type: 'bytes', bytes } as const;
    const file = { kind: 'file', name: `${secret}.txt`, mimeType: 'text/plain', source } as const;
    items.push({ id: itemId('u2'), kind: 'user', parts: [file] });
    await redactText(chat(), { rules, in: 'request' }).complete({ items });
    const sent = JSON.stringify(bodyOf(0));
    expect(sent.replaceAll('call_sk-abcd', '')).not.toContain(secret);
    expect(sent).toContain('My key is [redacted]');
    expect(sent).toContain('The key is [redacted]');
    expect(sent).toContain('used [redacted]');
    expect(sent).toContain(JSON.stringify('{"key":"[redacted]"}'));
  });

  test('leaves the arguments of calls in answers, and removes log probabilities', async () => {
    const logprobs = { content: [{ token: 'sk-abcd', logprob: -1, top_logprobs: [] }] };
    server.reply(
      streamReply([
        sseText(
          JSON.stringify({ choices: [{ index: 0, delta: { content: 'sk-abcd' }, logprobs }] }),
          toolCallEvent('{"key":"sk-abcd"}', 'login'),
          finishEvent('tool_calls'),
        ),
      ]),
    );
    const { item } = await redactText(chat(), { rules }).complete(asking());
    expect(item.parts).toMatchObject([
      { kind: 'text', text: '[redacted]' },
      { kind: 'tool_call', arguments: '{"key":"sk-abcd"}' },
    ]);
    expect(JSON.stringify(item.parts[0])).not.toContain('sk-abcd');
  });

  test('removes the signature and the state of reasoning that it changed, and only then', async () => {
    const state = { provider: 'p', model: 'm', data: { secret: 'sk-abcd' } };
    const thought = (text: string): Part => ({
      kind: 'reasoning',
      text,
      form: 'full',
      signature: 's',
      providerState: state,
    });
    const parts = [thought('Use sk-abcd.'), thought('Nothing.')];
    const provider = redactText(scriptedProvider([{ content: { parts } }]), { rules });
    const { item } = await provider.complete(asking());
    expect(item.parts).toEqual([
      { kind: 'reasoning', text: 'Use [redacted].', form: 'full' },
      thought('Nothing.'),
    ]);
  });

  test('keeps the state and the signature of a part that only loses log probabilities', async () => {
    const thought: Part = {
      kind: 'reasoning',
      text: 'Nothing.',
      form: 'full',
      signature: 's',
      providerState: { provider: 'p', model: 'm', data: { id: 'r1' } },
    };
    const metadata = { source: 'web' };
    const logged: Part = { ...thought, metadata: { ...metadata, logprobs: [['No', -1]] } };
    const inner = scriptedProvider(['Yes.']);
    const item: Item = { id: itemId('a1'), kind: 'assistant', parts: [logged] };
    await redactText(inner, { rules }).complete({ items: [item, ...asking().items] });
    expect(inner.requests[0]?.request.items[0]?.parts).toEqual([{ ...thought, metadata }]);
    const told: Part = { ...logged, metadata: { ...logged.metadata, source: 'sk-abcd' } };
    const again = scriptedProvider(['Yes.']);
    await redactText(again, { rules }).complete({ items: [{ ...item, parts: [told] }] });
    expect(again.requests[0]?.request.items[0]?.parts).toEqual([
      { kind: 'reasoning', text: 'Nothing.', form: 'full', metadata: { source: '[redacted]' } },
    ]);
  });

  test('refuses wrong rules', () => {
    const make = (rule: object) => () => redactText(chat(), { rules: [rule as never] });
    expect(() => redactText(chat(), { rules: [] })).toThrow('rules is empty');
    expect(make({ pattern: '' })).toThrow('pattern is no regular expression');
    expect(make({ pattern: 'a', replacement: 'aa' })).toThrow('a rule matches a replacement');
    expect(make({ pattern: /a/, maxLength: Infinity })).toThrow('maxLength is Infinity');
    expect(make({ patern: /a/ })).toThrow('Use pattern');
  });
});

const lengthOf = ({ deltas }: StreamStep): number =>
  deltas.reduce((sum, delta) => sum + (delta.type === 'append_text' ? delta.chunk.length : 0), 0);

describe('19: blockContent', () => {
  const noBomb = ({ text }: AnswerPiece) =>
    text.includes('bomb') ? { block: 'dangerous' } : undefined;

  test('stops a stream: nothing blocked is shown, and the server sees the abort', async () => {
    server.reply(
      streamReply([
        sseText(textEvent('The weather is fine. ')),
        sseText(textEvent('Build a bo')),
        sseText(textEvent('mb like this:')),
        { type: 'stall' },
      ]),
    );
    const guarded = blockContent(chat(), { answer: noBomb, everyLength: 10 });
    const completion = await guarded.complete(asking());
    expect(await server.requests[0]?.closed).toBe('client');
    expect(completion.error).toBeUndefined();
    expect(completion.stop).toEqual({
      reason: 'content_filter',
      raw: 'blocked',
      cause: 'dangerous',
    });
    expect(completion.text).toBe('The weather is fine. Build a bo');
    expect(completion.item.parts).toMatchObject([{ partial: true }]);
    expect(completion.usage).toMatchObject({ estimated: true });
    expect(completion.usage.output).toBeGreaterThan(0);
  });

  test('can retract what it had let through', async () => {
    server.reply(answer('The weather is fine. ', 'Build a bomb.'));
    const options = { answer: noBomb, everyLength: 10, onBlock: 'retract' } as const;
    const { text, item, stop } = await blockContent(chat(), options).complete(asking());
    expect([text, item.parts, stop.reason]).toEqual(['', [], 'content_filter']);
  });

  test('lets a good answer through unchanged, and checks all of it with overlap', async () => {
    const texts = ['One. ', 'Two. ', 'Three. ', 'Four.'];
    server.reply(answer(...texts), answer(...texts));
    const pieces: AnswerPiece[] = [];
    const guarded = blockContent(chat(), {
      answer: async (piece) => void pieces.push(piece),
      everyLength: 6,
      overlapLength: 4,
    });
    const plain = await chat().complete(asking(), { ids: countingIds() });
    const checked = await guarded.complete(asking(), { ids: countingIds() });
    expect(checked).toEqual({ ...plain, responseId: checked.responseId });
    expect(pieces.map(({ text, newFrom }) => text.slice(newFrom)).join('')).toBe(texts.join(''));
    expect(pieces.slice(1).every(({ newFrom }) => newFrom === 4)).toBe(true);
  });

  test('checks the arguments of calls and whole values', async () => {
    server.reply(
      streamReply([sseText(toolCallEvent('{"what":"bomb"}', 'buy'), finishEvent('tool_calls'))]),
    );
    const { item, stop } = await blockContent(chat(), { answer: noBomb }).complete(asking());
    expect([item.parts, stop.reason]).toEqual([[], 'content_filter']);
    const custom = { kind: 'custom', name: 'found', value: { text: 'bomb' } } as const;
    const source = scriptedProvider([{ content: { parts: [custom] } }]);
    const whole = await blockContent(source, { answer: noBomb }).complete(asking());
    expect([whole.item.parts, whole.stop.reason]).toEqual([[], 'content_filter']);
  });

  test('stops a request before it is sent', async () => {
    const guarded = blockContent(chat(), {
      request: async ({ items }) =>
        JSON.stringify(items).includes('bomb') ? { block: 'dangerous' } : undefined,
    });
    expect(await guarded.complete(asking('bomb'))).toMatchObject({
      stop: { reason: 'content_filter', cause: 'dangerous' },
      usage: { input: 0, output: 0, estimated: false },
    });
    expect(server.requests).toHaveLength(0);
    server.reply(answer('Sunny'));
    expect((await guarded.complete(asking())).text).toBe('Sunny');
  });

  test('whose check fails lets nothing through', async () => {
    server.reply(answer('Sunny'));
    const guarded = blockContent(chat(), {
      answer: () => {
        throw new Error('the classifier is down');
      },
    });
    const completion = await guarded.complete(asking());
    expect(completion.error).toMatchObject({ kind: 'filtered', retryable: false });
    expect(completion.text).toBe('');
  });

  test('refuses wrong options', () => {
    expect(() => blockContent(chat(), {})).toThrow('there is no check');
    expect(() => blockContent(chat(), { answer: noBomb, everyLength: 0 })).toThrow(
      'everyLength is 0',
    );
    expect(() => blockContent(chat(), { answer: noBomb, onBlock: 'drop' as never })).toThrow(
      'onBlock is drop',
    );
  });
});
