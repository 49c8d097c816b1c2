import { countingIds, type Delta, DeltaWriter, itemId, noUsage, partId } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { observe } from '../conformance/observe.ts';
import type { StreamStep } from '../contract/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { type ScriptedServer, startScriptedServer, streamReply } from '../scripted-server/index.ts';
import {
  finishEvent,
  sseText,
  textEvent,
  toolCallEvent,
  usageEvent,
} from '../testing/chat-events.ts';
import { helloItems } from '../testing/hello-items.ts';
import { openStream } from '../testing/open-stream.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { mapText } from './map-text.ts';
import { moveSteps, type ProviderWrapper, wrapProvider } from './wrap-provider.ts';

let server: ScriptedServer;
const clock = new VirtualClock();
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(async () => {
  await server.close();
  expect(clock.pending).toBe(0);
});

const chat = () => openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock });
const request = { items: helloItems };
const answer = (text: string) => streamReply([sseText(textEvent(text), finishEvent(), usageEvent)]);

describe('a wrapper', () => {
  test('leaves the provider what it is: its id and its model', () => {
    const wrapped = wrapProvider(chat(), (asked, context, next) => next(asked, context));
    expect(wrapped).toMatchObject({ id: expect.stringMatching(/^openai-compatible@/), model: 'm' });
  });

  test('may watch', async () => {
    const seen: string[] = [];
    const watched = wrapProvider(chat(), async function* (asked, context, next) {
      for await (const step of next(asked, context)) {
        for (const delta of step.deltas) if (delta.type === 'append_text') seen.push(delta.chunk);
        yield step;
      }
    });
    server.reply(streamReply([sseText(textEvent('a')), sseText(textEvent('b'), finishEvent())]));
    expect((await watched.complete(request)).text).toBe('ab');
    expect(seen.join('')).toBe('ab');
  });

  test('may meter, also what failed', async () => {
    let output = 0;
    const metered = wrapProvider(chat(), async function* (asked, context, next) {
      for await (const step of next(asked, context)) {
        output += step.end?.usage.output ?? 0;
        yield step;
      }
    });
    server.reply(answer('a'), streamReply([sseText(textEvent('12345678'))]));
    await metered.complete(request);
    expect(output).toBe(7);
    expect((await metered.complete(request)).error?.kind).toBe('truncated_stream');
    expect(output).toBe(9);
  });

  test('may change the request', async () => {
    const colder = wrapProvider(chat(), (asked, context, next) =>
      next({ ...asked, temperature: 0 }, context),
    );
    server.reply(answer('a'));
    await colder.complete({ items: helloItems, temperature: 1 });
    expect(server.requests[0]?.body).toMatchObject({ temperature: 0 });
  });

  test('may change what streams', async () => {
    const loud = wrapProvider(chat(), (asked, context, next) =>
      mapText(next(asked, context), (chunk) => chunk.toUpperCase()),
    );
    server.reply(answer('hello'));
    expect((await loud.complete(request)).text).toBe('HELLO');
  });

  test('may change the end', async () => {
    const tagged = wrapProvider(chat(), async function* (asked, context, next) {
      for await (const step of next(asked, context)) {
        yield step.end === undefined ? step : { ...step, end: { ...step.end, model: 'other' } };
      }
    });
    server.reply(answer('a'));
    expect((await tagged.complete(request)).model).toBe('other');
  });

  test('may answer by itself, and then nothing is sent', async () => {
    const canned = wrapProvider(chat(), async function* (_asked, { item, ids }) {
      const writer = new DeltaWriter({ itemId: item.id, ...item, ids });
      writer.whole({ kind: 'text', text: 'canned' });
      yield { deltas: writer.take(), end: { stop: { reason: 'stop' }, usage: noUsage } };
    });
    expect((await observe(canned)).item.parts).toEqual([{ kind: 'text', text: 'canned' }]);
    expect(server.requests).toEqual([]);
  });

  test('may answer from a cache that it filled', async () => {
    const cache = new Map<string, readonly StreamStep[]>();
    const caching: ProviderWrapper = async function* (asked, context, next) {
      const key = JSON.stringify(asked);
      const known = cache.get(key);
      if (known !== undefined) return yield* moveSteps(known, context.item);
      const steps: StreamStep[] = [];
      for await (const step of next(asked, context)) {
        steps.push(step);
        yield step;
      }
      if (steps.at(-1)?.end?.error === undefined) cache.set(key, steps);
    };
    const cached = wrapProvider(chat(), caching);
    server.reply(
      streamReply([
        sseText(textEvent('on'), textEvent('ce')),
        sseText(toolCallEvent('{"a":1}', 'add'), finishEvent()),
      ]),
    );
    const first = await cached.complete(request);
    expect(first.text).toBe('once');
    // `observe` makes another attempt at another item, and rejects steps of any other item.
    const replayed = await observe(cached, { request });
    const third = await cached.complete(request);
    for (const { item } of [replayed, third]) expect(item.parts).toEqual(first.item.parts);
    expect(third.item.id).not.toBe(first.item.id);
    expect(server.requests).toHaveLength(1);
    server.assertUsedUp();
  });

  test('stands outside of those that came before it', async () => {
    const order: string[] = [];
    const noting =
      (name: string): ProviderWrapper =>
      (asked, context, next) => {
        order.push(name);
        return next(asked, context);
      };
    const twice = wrapProvider(wrapProvider(chat(), noting('inner')), noting('outer'));
    server.reply(answer('a'));
    await twice.complete(request);
    expect(order).toEqual(['outer', 'inner']);
  });

  test('lets a consumer that leaves close the connection', async () => {
    const wrapped = wrapProvider(chat(), async function* (asked, context, next) {
      for await (const step of next(asked, context)) yield step;
    });
    server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
    const stream = openStream(wrapped);
    await stream.next();
    await stream.close();
    expect(await server.requests[0]?.closed).toBe('client');
  });

  test('lets a consumer that leaves while it waits go at once', async () => {
    const wrapped = wrapProvider(chat(), async function* (asked, context, next) {
      for await (const step of next(asked, context)) yield step;
    });
    server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
    const stream = openStream(wrapped);
    await stream.next();
    const waiting = stream.next();
    await stream.close();
    expect((await waiting)?.end?.stop.reason).toBe('aborted');
    expect(await server.requests[0]?.closed).toBe('client');
  });

  test('that throws rejects what asked for a step', async () => {
    const broken = wrapProvider(chat(), () => {
      throw new RangeError('no');
    });
    await expect(openStream(broken).next()).rejects.toThrow(RangeError);
  });

  test('lets a signal through', async () => {
    const controller = new AbortController();
    const wrapped = wrapProvider(chat(), (asked, context, next) =>
      mapText(next(asked, context), (chunk) => chunk),
    );
    server.reply(streamReply([sseText(textEvent('a')), { type: 'stall' }]));
    const { stop } = await wrapped.complete(request, {
      signal: controller.signal,
      onStep: () => controller.abort(),
    });
    expect(stop.reason).toBe('aborted');
  });
});

const item = { id: itemId('new'), turn: 7, attempt: 2 };
const old = partId(1, 1, 'a.b');
const end = { stop: { reason: 'stop' }, usage: {} } as never;

test('moved steps name the item and attempt at hand, and say the same', () => {
  const deltas: readonly Delta[] = [
    { type: 'begin_part', partId: old, itemId: itemId('old'), kind: 'text' },
    { type: 'append_text', partId: old, at: 0, chunk: 'x' },
    { type: 'commit_part', partId: old, length: 1 },
    { type: 'unknown', raw: { type: 'later' } },
  ];
  const moved = { partId: '7.2.a.b' };
  expect(moveSteps([{ deltas }, { deltas: [], end }], item)).toEqual([
    {
      deltas: [
        { ...deltas[0], ...moved, itemId: 'new' },
        { ...deltas[1], ...moved },
        { ...deltas[2], ...moved },
        deltas[3],
      ],
    },
    { deltas: [], end },
  ]);
  expect(deltas[0]).toMatchObject({ partId: '1.1.a.b', itemId: 'old' });
});

test('parts of one step keep ids of their own', () => {
  const ids = countingIds();
  const deltas = [1, 2].map(
    (): Delta => ({
      type: 'begin_part',
      partId: ids.part(1, 1),
      itemId: itemId('old'),
      kind: 'text',
    }),
  );
  const [step] = moveSteps([{ deltas }], item);
  expect(step?.deltas.map((delta) => 'partId' in delta && delta.partId)).toEqual([
    '7.2.p1',
    '7.2.p2',
  ]);
});
