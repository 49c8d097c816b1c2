import { decodeBatch, emptyState, Folder, sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { expect, test } from 'vitest';
import { openTextWriter } from '../testing/recorded-run.ts';
import { settled, startStreamServer } from '../testing/servers/stream-server.ts';
import { SseReader } from '../testing/sse-reader.ts';
import { defaultStreamLimits } from './stream-limits.ts';

const session = sessionId('slow');
const path = '/slow?view=records&from=0';

/**
 * Maximum buffer size of one connection: one write, plus the bytes that the connection accepts before it
 * reports that it is full.
 */
const cap = 2 * defaultStreamLimits.pieceBytes + 2 ** 14;
const chunk = 'x'.repeat(2 ** 14);

async function stalledReader(port: number): Promise<SseReader> {
  const reader = new SseReader({ port, path });
  await reader.waitUntil(({ messages }) => messages.length > 0);
  reader.pause();
  return reader;
}

/** Writes more than the operating system buffers for connections that do not read. */
async function writeUntil(write: (chunk: string) => Promise<unknown>, isEnough: () => boolean) {
  let deltas = 0;
  while (!isEnough()) {
    await write(chunk);
    deltas++;
    await settled();
  }
  return deltas;
}

function fold(...readers: readonly SseReader[]) {
  const folder = new Folder(emptyState(session));
  for (const { event, data } of readers.flatMap(({ messages }) => messages)) {
    if (event === 'message') expect(folder.addBatch(decodeBatch(data)).outcome).not.toBe('gap');
  }
  return transcript(folder.state);
}

test('law 11: memory for stalled readers is bounded by their number, not by the amount of content', async () => {
  const log = memoryLog();
  const { append } = await openTextWriter(log, session);
  await using server = await startStreamServer({
    log,
    limits: { mergeMs: 0, maxLagRecords: 1e9, maxLagBytes: 1e9 },
  });
  const count = 10;
  const readers = await Promise.all(
    Array.from({ length: count }, () => stalledReader(server.port)),
  );
  let most = 0;
  const buffered = () => {
    most = Math.max(most, server.feeds.stats.bufferedBytes);
    return server.feeds.stats.bufferedBytes;
  };
  await writeUntil(append, () => buffered() >= count * defaultStreamLimits.pieceBytes);
  for (let more = 0; more < 200; more++) {
    await append(chunk);
    buffered();
  }
  const { viewers, keptBytes } = server.feeds.stats;
  expect(viewers).toBe(count);
  expect(most).toBeLessThanOrEqual(count * cap);
  const { ringBytes, replayBytes } = defaultStreamLimits;
  expect(keptBytes).toBeLessThanOrEqual(ringBytes + replayBytes);
  for (const reader of readers) reader.disconnect();
});

test('a reader that stalls and continues gets everything, in fewer frames', async () => {
  const log = memoryLog();
  const { append, end } = await openTextWriter(log, session);
  await using server = await startStreamServer({
    log,
    limits: { mergeMs: 0, maxLagRecords: 1e9, maxLagBytes: 1e9 },
  });
  const reader = await stalledReader(server.port);
  const before = await writeUntil(append, () => server.feeds.stats.bufferedBytes >= 2 ** 16);
  // These are far more bytes than the ring can hold.
  for (let more = 0; more < 2_000; more++) await append('word ');
  for (let more = 0; more < 40; more++) await append(chunk);
  await end();
  reader.resume();
  await reader.waitForEnd();
  expect(reader.messages.at(-1)?.event).toBe('end');
  expect(reader.messages.length).toBeLessThan(before + 200);
  expect(fold(reader)).toEqual(transcript(await snapshot(log, session)));
});

test('a reader that is too far behind is disconnected, and resumes without loss', async () => {
  const log = memoryLog();
  const { append, end } = await openTextWriter(log, session);
  await using server = await startStreamServer({
    log,
    limits: { mergeMs: 0, maxLagRecords: 100, retryMs: 77 },
  });
  const reader = await stalledReader(server.port);
  await writeUntil(append, () => server.ends.length > 0);
  expect(server.ends).toEqual(['cut_off']);
  expect(server.feeds.stats).toMatchObject({ viewers: 0, bufferedBytes: 0 });
  reader.resume();
  await reader.waitForEnd();
  expect(reader.messages.some(({ event }) => event === 'end')).toBe(false);
  await end();
  const lastEventId = reader.parser.lastId;
  const resumed = await new SseReader({
    port: server.port,
    path,
    lastEventId,
  }).waitForEnd();
  expect(fold(reader, resumed)).toEqual(transcript(await snapshot(log, session)));
});

test('a reader that reads nothing for a minute is disconnected', async () => {
  const clock = new TestClock();
  const log = memoryLog();
  const { append } = await openTextWriter(log, session);
  await using server = await startStreamServer({
    log,
    clock,
    limits: { mergeMs: 0, maxLagRecords: 1e9, maxLagBytes: 1e9 },
  });
  const reader = await stalledReader(server.port);
  await writeUntil(append, () => server.feeds.stats.bufferedBytes >= 2 ** 16);
  const other = new SseReader({ port: server.port, path });
  await other.waitUntil(({ text }) => text.length > 2 ** 20);
  await clock.advance(59_999);
  expect(server.ends).toEqual([]);
  await clock.advance(1);
  expect(server.ends).toEqual(['cut_off']);
  expect(server.feeds.stats.viewers).toBe(1);
  for (const each of [reader, other]) each.disconnect();
});

test('a frame larger than one write is sent in parts', async () => {
  const log = memoryLog();
  const { append, end } = await openTextWriter(log, session);
  await using server = await startStreamServer({ log, limits: { pieceBytes: 10_000 } });
  const reader = new SseReader({ port: server.port, path });
  await reader.waitUntil(({ messages }) => messages.length > 0);
  await append('y'.repeat(1_000_000));
  await end();
  await reader.waitForEnd();
  expect(fold(reader)).toEqual(transcript(await snapshot(log, session)));
});
