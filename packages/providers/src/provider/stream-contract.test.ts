import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { observe } from '../conformance/observe.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { splitAt } from '../scripted-server/index.ts';
import {
  finishEvent,
  sseText,
  textEvent,
  toolCallEvent,
  usageEvent,
} from '../testing/chat-events.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { watchRejections } from '../testing/watch-rejections.ts';

// Whatever a server sends, a stream does not throw. It ends in one end step, with every part
// closed. `observe` checks each step against the contract and each delta against the protocol.

watchRejections();

const keys = [
  'choices',
  'delta',
  'message',
  'content',
  'tool_calls',
  'function',
  'name',
  'arguments',
  'id',
  'index',
  'finish_reason',
  'usage',
  'prompt_tokens',
  'error',
  'type',
  'text',
  'reasoning_details',
  'images',
  'image_url',
  'url',
  'audio',
  'data',
  'annotations',
  '__proto__',
];
const { value } = fc.letrec<{ readonly value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<unknown>(null, 0, 1, -1, 1e308, true, '', 'text', 'stop', 'add', '{}'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 4 }),
  ),
}));

const event = fc.oneof(
  fc.constantFrom(
    textEvent('a'),
    textEvent('😀'),
    toolCallEvent('{"a":', 'add'),
    toolCallEvent('1}'),
    finishEvent('tool_calls'),
    finishEvent(),
    usageEvent,
    '[DONE]',
  ),
  value.map((odd) => JSON.stringify(odd)),
  value.map((odd) => JSON.stringify({ choices: [{ index: 0, delta: odd }] })),
  value.map((odd) => JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [odd] } }] })),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
const stream = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: event.map((data) => sseText(data)) },
    fc.constantFrom(': ping\n', 'event: error\n', 'event: x\n', '\r', 'id: 1\n', 'error: no\n'),
    fc.string({ unit: 'binary', maxLength: 10 }),
  ),
  { maxLength: 12 },
);
const cuts = fc.array(fc.nat(1500), { maxLength: 5 });

function piecesOf(texts: readonly string[], offsets: readonly number[]) {
  const bytes = new TextEncoder().encode(texts.join(''));
  return splitAt(
    bytes,
    offsets.filter((at) => at <= bytes.length),
  );
}

function chat(fetcher: typeof fetch, clock: VirtualClock, maxEventLength?: number) {
  return openaiChat({ model: 'm', apiKey: 'nobody', fetch: fetcher, clock, maxEventLength });
}

describe('a stream', () => {
  test('of anything ends in one end step, and leaves no part open and no timer', async () => {
    await fc.assert(
      fc.asyncProperty(stream, cuts, async (texts, offsets) => {
        const clock = new VirtualClock();
        const { fetch } = fetchOf(piecesOf(texts, offsets));
        await observe(chat(fetch, clock, 200));
        expect(clock.pending).toBe(0);
      }),
      { numRuns: runs(600) },
    );
  });

  test('of anything is the same however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(stream, cuts, async (texts, offsets) => {
        const clock = new VirtualClock();
        const whole = await observe(chat(fetchOf(piecesOf(texts, [])).fetch, clock, 200));
        const cut = await observe(chat(fetchOf(piecesOf(texts, offsets)).fetch, clock, 200));
        expect(cut.deltas).toEqual(whole.deltas);
        const told = ({ error, ...end }: typeof cut.end) => ({ ...end, error: error?.message });
        expect(told(cut.end)).toEqual(told(whole.end));
      }),
      { numRuns: runs(600) },
    );
  });

  test('that is aborted anywhere ends as aborted, or as complete', async () => {
    const events = [
      textEvent('a'),
      toolCallEvent('{"a":', 'add'),
      textEvent('b'),
      toolCallEvent('1}'),
      finishEvent(),
      usageEvent,
    ];
    const bytes = new TextEncoder().encode(sseText(...events));
    await fc.assert(
      fc.asyncProperty(
        fc.nat(bytes.length),
        fc.nat(bytes.length),
        fc.nat(4),
        async (a, b, steps) => {
          const clock = new VirtualClock();
          const controller = new AbortController();
          let count = 0;
          const { end } = await observe(chat(fetchOf(splitAt(bytes, [a, b])).fetch, clock), {
            signal: controller.signal,
            onStep: () => {
              if (count++ === steps) controller.abort();
            },
          });
          expect(['aborted', 'tool_use']).toContain(end.stop.reason);
          expect(clock.pending).toBe(0);
        },
      ),
      { numRuns: runs(300) },
    );
  });

  test('of a body that is no bytes ends as an error', async () => {
    const bodies = ['text', 7, null, {}, [1, 2]].map((chunk) => ReadableStream.from([chunk]));
    for (const body of bodies) {
      const { end } = await observe(
        chat(async () => new Response(body as never), new VirtualClock()),
      );
      expect(end.error?.kind).toBe('invalid_request');
    }
  });

  test('with more parts than a log takes ends as an error', async () => {
    const thought = '{"choices":[{"index":0,"delta":{"reasoning_content":"x"}}]}';
    const events = Array.from({ length: 50 }, () => [textEvent('a'), thought]).flat();
    const { fetch } = fetchOf([sseText(...events, finishEvent())]);
    const provider = openaiChat({ model: 'm', apiKey: 'nobody', fetch, limits: { maxParts: 20 } });
    const { end, item } = await observe(provider);
    expect(end.error?.kind).toBe('protocol_error');
    expect(item.parts).toHaveLength(20);
  });
});
