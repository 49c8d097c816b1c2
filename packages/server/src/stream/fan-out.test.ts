import {
  type Batch,
  countingIds,
  DeltaWriter,
  decodeBatch,
  decodeEvent,
  emptyState,
  Folder,
  itemId,
  sessionId,
  transcript,
} from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { expect, test } from 'vitest';
import { appendBatches, openTextWriter, recordedRun } from '../testing/recorded-run.ts';
import { settled, startStreamServer } from '../testing/servers/stream-server.ts';
import { SseReader } from '../testing/sse-reader.ts';

const session = sessionId('watched');
const at = { turn: 1, attempt: 1 };

/** Creates a log that counts its readers. */
function counted(log: Log) {
  const counts = { follows: 0, following: 0, reads: 0 };
  const follow: Log['follow'] = (...given) => {
    counts.follows++;
    const batches = log.follow(...given);
    return (async function* () {
      counts.following++;
      try {
        yield* batches;
      } finally {
        counts.following--;
      }
    })();
  };
  const proxy = new Proxy(log, {
    get(target, name) {
      if (name === 'follow') return follow;
      if (name === 'read') counts.reads++;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { log: proxy, counts };
}

const batches = (reader: SseReader): readonly Batch[] =>
  reader.messages.filter(({ event }) => event === 'message').map(({ data }) => decodeBatch(data));

const has = (word: string) => (reader: SseReader) => reader.text.includes(word);

test('a hundred viewers need one reader of the log, which ends some time after the last viewer', async () => {
  const clock = new TestClock();
  const { log, counts } = counted(memoryLog());
  const { append } = await openTextWriter(log, session);
  await using server = await startStreamServer({ log, clock });
  const readers = Array.from(
    { length: 100 },
    (_, index) =>
      new SseReader({
        port: server.port,
        path: `/watched?view=${index % 2 ? 'events' : 'records'}`,
      }),
  );
  await Promise.all(readers.map((reader) => reader.waitUntil((it) => it.messages.length > 0)));
  await append('hello');
  await Promise.all(readers.map((reader) => reader.waitUntil(has('hello'))));
  expect(counts.follows).toBe(1);
  expect(server.feeds.stats).toMatchObject({ tasks: 1, viewers: 100 });
  // All viewers of one view receive the same bytes.
  expect(new Set(readers.map(({ text }) => text)).size).toBe(2);

  for (const reader of readers) reader.disconnect();
  while (server.ends.length < 100) await settled();
  expect(new Set(server.ends)).toEqual(new Set(['left']));
  expect(counts.following).toBe(1);
  await clock.advance(5_000);
  await settled();
  expect(counts.following).toBe(0);
  expect(server.feeds.stats).toEqual({ tasks: 0, viewers: 0, keptBytes: 0, bufferedBytes: 0 });
});

test('a disconnected viewer stops nothing, and gets the missed frames when it reconnects', async () => {
  const log = memoryLog();
  const { append } = await openTextWriter(log, session);
  await using server = await startStreamServer({ log });
  const path = '/watched?view=records';
  const [one, two] = [
    new SseReader({ port: server.port, path }),
    new SseReader({ port: server.port, path }),
  ];
  await append('one ');
  await Promise.all([one.waitUntil(has('one ')), two.waitUntil(has('one '))]);
  one.disconnect();
  await one.waitForEnd();
  await append('two ');
  await two.waitUntil(has('two '));
  const lastEventId = one.parser.lastId;
  const back = new SseReader({ port: server.port, path, lastEventId });
  await back.waitUntil(has('two '));
  expect(back.text).not.toContain('one ');
  const folder = new Folder(emptyState(session));
  for (const batch of [...batches(one), ...batches(back)]) folder.addBatch(batch);
  expect(folder.state.open[0]?.text).toBe('one two ');
  for (const reader of [two, back]) reader.disconnect();
});

test('the first delta is sent at once, later ones together after 20 ms', async () => {
  const clock = new TestClock();
  const log = memoryLog({ clock });
  const { append } = await openTextWriter(log, session);
  await using server = await startStreamServer({ log, clock });
  const reader = new SseReader({ port: server.port, path: '/watched?view=events' });
  await reader.waitUntil(({ messages }) => messages.length === 2);
  const sent = () => reader.messages.slice(2).map(({ data }) => decodeEvent(data));

  await append('first');
  await reader.waitUntil(has('first'));
  for (const word of [' second', ' third']) await append(word);
  await settled();
  await clock.advance(19);
  expect(sent()).toHaveLength(1);
  await clock.advance(1);
  await reader.waitUntil(has('third'));
  expect(sent()).toMatchObject([
    { type: 'assistant_text_delta', at: 0, text: 'first' },
    { type: 'assistant_text_delta', at: 5, text: ' second third' },
  ]);
  // The merge window has ended, so the next delta is sent immediately.
  await clock.advance(20);
  await append(' fourth');
  await reader.waitUntil(has('fourth'));
  reader.disconnect();
});

test('an idle stream is kept alive by comments, 15 s after the last frame', async () => {
  const clock = new TestClock();
  const log = memoryLog({ clock });
  const { append } = await openTextWriter(log, session);
  await using server = await startStreamServer({ log, clock });
  const reader = new SseReader({ port: server.port, path: '/watched' });
  await reader.waitUntil(({ messages }) => messages.length > 0);
  await clock.advance(10_000);
  await append('word');
  await reader.waitUntil(has('word'));
  await clock.advance(14_999);
  expect(reader.parser.comments).toBe(0);
  await clock.advance(1);
  await reader.waitUntil(({ parser }) => parser.comments === 1);
  await clock.advance(15_000);
  await reader.waitUntil(({ parser }) => parser.comments === 2);
  reader.disconnect();
});

test('a late viewer gets finished turns settled, at the cost of items, not of deltas', async () => {
  const log = memoryLog();
  const item = itemId('long');
  const writer = new DeltaWriter({ itemId: item, ...at, ids: countingIds() });
  const text = writer.text();
  const reads = Array.from({ length: 5_000 }, (_, index) => {
    text.append(`word${index} `);
    return writer.take().map((delta) => ({ ...at, delta }));
  });
  text.commit();
  const stop = { reason: 'stop' } as const;
  await appendBatches(log, session, [
    [
      { ...at, fact: { type: 'turn_started' } },
      { ...at, fact: { type: 'item_started', itemId: item, kind: 'assistant' } },
    ],
    ...reads,
    [
      ...writer.take().map((delta) => ({ ...at, delta })),
      { ...at, fact: { type: 'item_finished', itemId: item } },
      { ...at, attempt: 0, fact: { type: 'turn_finished', itemId: item, stop } },
    ],
  ]);
  await using server = await startStreamServer({ log });
  for (const view of ['records', 'events']) {
    const reader = new SseReader({ port: server.port, path: `/watched?view=${view}` });
    await reader.waitUntil(has('turn_finished'));
    expect(reader.messages.length).toBeLessThanOrEqual(5);
    expect(reader.text).toContain('word4999');
    reader.disconnect();
  }
  const late = new SseReader({ port: server.port, path: '/watched' });
  await late.waitUntil(has('turn_finished'));
  const folder = new Folder(emptyState(session));
  for (const batch of batches(late)) expect(folder.addBatch(batch).outcome).toBe('applied');
  expect(transcript(folder.state)).toEqual(transcript(await snapshot(log, session)));
  late.disconnect();
});

test('redacted content is not sent to later viewers', async () => {
  const log = memoryLog();
  await appendBatches(log, session, recordedRun(1));
  await using server = await startStreamServer({ log });
  const first = new SseReader({ port: server.port, path: '/watched?view=events&from=0' });
  await first.waitUntil(has('run_finished'));
  expect(first.text).toContain('weather?');
  const { items } = await snapshot(log, session);
  const user = items.chunk.find(({ kind }) => kind === 'user');
  await log.redact(session, user?.id ?? itemId('none'));
  await first.waitUntil(has('item_redacted'));
  for (const query of [
    'view=events',
    'view=events&from=0',
    'view=records',
    'view=records&from=0',
  ]) {
    const later = new SseReader({ port: server.port, path: `/watched?${query}` });
    await later.waitUntil(has('item_redacted'));
    expect(later.text).not.toContain('weather?');
    later.disconnect();
  }
  first.disconnect();
});
