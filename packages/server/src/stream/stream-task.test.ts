import { sessionId } from '@millrace/core';
import { type Log, LogError, memoryLog } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { expect, test } from 'vitest';
import { withMethods } from '../../../agent/src/testing/test-doubles.ts';
import type { Task } from '../contract/task.ts';
import { appendBatches, recordedRun } from '../testing/recorded-run.ts';
import { settled, startStreamServer } from '../testing/servers/stream-server.ts';
import { SseReader } from '../testing/sse-reader.ts';

const session = sessionId('asked');

const task: Task = {
  id: session,
  name: null,
  status: 'RUNNING',
  status_reason: null,
  created_at: null,
  updated_at: null,
  cleaned_at: null,
  params: null,
  task_metadata: null,
};

async function served(options: Partial<Parameters<typeof startStreamServer>[0]> = {}) {
  const log = memoryLog();
  await appendBatches(log, session, recordedRun(1));
  const server = await startStreamServer({ log, ...options });
  const get = (path: string, lastEventId?: string) =>
    new SseReader({ port: server.port, path, lastEventId });
  return { log, server, get, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test.each(['-1', 'x', '1.', '1.x', '1.2.3', '99999999999999999', '1e3', '0x1'])(
  'an invalid cursor (%s) is refused before anything is streamed',
  async (cursor) => {
    await using it = await served();
    for (const reader of [it.get(`/asked?from=${cursor}`), it.get('/asked', cursor)]) {
      await reader.waitForEnd();
      expect(reader.status).toBe(400);
      expect(reader.text).toContain('Send the id of the last received event');
    }
    expect(it.server.feeds.stats.viewers).toBe(0);
  },
);

test('a stream of records states the current end of the log, so that clients detect when they have caught up', async () => {
  await using it = await served();
  const info = await it.log.info(session);
  const reader = it.get('/asked?view=records');
  await reader.waitUntil(({ messages }) => messages.length > 0);
  expect(reader.headers['millrace-through']).toBe(String(info?.through));
  expect(reader.messages.at(-1)?.id).toBe(`${info?.through}-${info?.incarnation}`);
  reader.disconnect();
});

test('21.B: a viewer without a cursor does not notice that the log was rewound while it was read', async () => {
  const log = memoryLog();
  await appendBatches(log, session, recordedRun(1));
  let reads = 0;
  const read: Log['read'] = async (...which) => {
    if (++reads === 1) throw new LogError('rewound', 'The log was rewound', { session });
    return log.read(...which);
  };
  await using server = await startStreamServer({ log: withMethods(log, { read }) });
  const reader = new SseReader({ port: server.port, path: '/asked?view=records' });
  const { through } = (await log.info(session)) ?? expect.fail();
  await reader.waitUntil(({ messages }) => messages.at(-1)?.id?.startsWith(`${through}-`) === true);
  expect(reader.status).toBe(200);
  reader.disconnect();
});

test('an offset that never existed is refused, and the error says how to continue', async () => {
  await using it = await served();
  const reader = await it.get('/asked?from=100000').waitForEnd();
  expect(reader.status).toBe(410);
  expect(reader.text).toMatch(/after offset 100000: its log ends at \d+\. Connect without/);
});

test('a task without a log is not found until it has one', async () => {
  await using it = await served();
  expect((await it.get('/unknown').waitForEnd()).status).toBe(404);
  await appendBatches(it.log, sessionId('unknown'), recordedRun(1));
  const reader = it.get('/unknown');
  await reader.waitUntil(({ messages }) => messages.length > 0);
  expect(reader.status).toBe(200);
  reader.disconnect();
});

test('beyond the limits on tasks and viewers, clients are asked to come back later', async () => {
  await using it = await served({ limits: { maxTasks: 1, maxViewers: 2 } });
  await appendBatches(it.log, sessionId('other'), recordedRun(1));
  const first = it.get('/asked');
  await first.waitUntil(({ messages }) => messages.length > 0);
  expect((await it.get('/other').waitForEnd()).status).toBe(503);
  const second = it.get('/asked');
  await second.waitUntil(({ messages }) => messages.length > 0);
  expect((await it.get('/asked').waitForEnd()).status).toBe(503);
  for (const reader of [first, second]) reader.disconnect();
});

test('a stream disables buffering and sets the retry time', async () => {
  await using it = await served();
  const reader = it.get('/asked');
  await reader.waitUntil(({ messages }) => messages.length > 0);
  expect(reader.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  });
  expect(reader.headers['content-encoding']).toBeUndefined();
  expect(reader.parser.retryMs).toBe(1_000);
  reader.disconnect();
});

test('updates start with connected and the row of the task, without an id', async () => {
  const watch = { current: () => task, onChange: () => () => {} };
  await using it = await served({ stream: { task: watch } });
  const reader = it.get('/asked?view=updates&from=0');
  await reader.waitUntil(({ messages }) => messages.length > 3);
  const [connected, updated] = reader.messages;
  expect(connected).toEqual({
    id: undefined,
    event: 'message',
    data: '{"type":"connected","taskId":"asked"}',
  });
  expect(JSON.parse(updated?.data ?? '')).toEqual({ type: 'task_updated', task });
  expect(updated?.id).toBeUndefined();
  reader.disconnect();
});

function changing() {
  let now = task;
  const listeners = new Set<(task: Task) => void>();
  return {
    watch: {
      current: () => now,
      onChange: (listener: (task: Task) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    listeners,
    set: (status: Task['status']) => {
      now = { ...task, status };
      for (const listener of listeners) listener(now);
    },
  };
}

test('a finished task ends its streams with the reason, after everything was sent', async () => {
  const { watch, set, listeners } = changing();
  await using it = await served({ stream: { task: watch } });
  const reader = it.get('/asked?view=events');
  await reader.waitUntil(({ text }) => text.includes('run_finished'));
  set('COMPLETED');
  await reader.waitForEnd();
  expect(reader.error).toBeUndefined();
  expect(reader.messages.slice(-2)).toMatchObject([
    { event: 'task_updated' },
    { event: 'end', data: '{"reason":"completed"}' },
  ]);
  const late = await it.get('/asked?view=records').waitForEnd();
  expect(late.text).toContain('run_finished');
  expect(late.messages.at(-1)).toMatchObject({ event: 'end' });
  await settled();
  expect(listeners.size).toBe(0);
  expect(it.server.ends).toEqual(['ended', 'ended']);
});

test('the updates of a finished task end some time later, unless it is resumed', async () => {
  const clock = new TestClock();
  const { watch, set } = changing();
  await using it = await served({ clock, stream: { task: watch } });
  const reader = it.get('/asked?view=updates');
  await reader.waitUntil(({ messages }) => messages.length > 1);
  set('COMPLETED');
  await clock.advance(10_000);
  set('RUNNING');
  await clock.advance(30_000);
  expect(reader.isEnded).toBe(false);
  set('CANCELED');
  await clock.advance(15_000);
  await reader.waitForEnd();
  expect(reader.text).toContain(': end canceled');
});

test('21.A: a stream goes on while a driver works on the run, whatever the row says', async () => {
  const clock = new TestClock();
  const { watch, set } = changing();
  const log = memoryLog({ clock });
  const reads = recordedRun(1);
  await appendBatches(log, session, reads.slice(0, -1));
  const driver = await log.open(session, { holder: 'the server that took over' });
  await using server = await startStreamServer({ log, clock, stream: { task: watch } });
  const reader = new SseReader({ port: server.port, path: '/asked?view=records' });
  await reader.waitUntil(({ text }) => text.includes('turn_finished'));
  set('FAILED');
  for (let round = 0; round < 5; round++) {
    await settled();
    await clock.advance(1000);
  }
  expect(reader.isEnded).toBe(false);
  for (const drafts of reads.slice(-1)) await driver.append(drafts);
  await driver.release();
  for (let round = 0; round < 5; round++) {
    await settled();
    await clock.advance(1000);
  }
  await reader.waitForEnd();
  expect(reader.text).toContain('run_finished');
  expect(reader.messages.at(-1)).toMatchObject({ event: 'end', data: '{"reason":"failed"}' });
});

test('21.A: a stream of a run that nobody drives ends, and says so', async () => {
  const { watch, set } = changing();
  const log = memoryLog();
  await appendBatches(log, session, recordedRun(1).slice(0, -1));
  await using server = await startStreamServer({ log, stream: { task: watch } });
  const reader = new SseReader({ port: server.port, path: '/asked?view=records' });
  await reader.waitUntil(({ text }) => text.includes('turn_finished'));
  set('FAILED');
  await reader.waitForEnd();
  const data = '{"reason":"failed","is_run_live":false}';
  expect(reader.messages.at(-1)).toMatchObject({ event: 'end', data });
});

test('until idle, a stream ends with the current run', async () => {
  const log = memoryLog();
  const reads = recordedRun(1);
  await appendBatches(log, session, reads.slice(0, -1));
  await using server = await startStreamServer({ log, stream: { until: 'idle' } });
  const reader = new SseReader({ port: server.port, path: '/asked?view=events' });
  await reader.waitUntil(({ text }) => text.includes('turn_finished'));
  expect(reader.isEnded).toBe(false);
  await appendBatches(log, session, reads.slice(-1));
  await reader.waitForEnd();
  expect(reader.messages.at(-1)).toMatchObject({ event: 'end', data: '{"reason":"idle"}' });
});

test('the chunks of a chat end with its run, once, with the header of their protocol', async () => {
  const log = memoryLog();
  const reads = recordedRun(1);
  await appendBatches(log, session, reads.slice(0, -1));
  await using server = await startStreamServer({ log });
  const reader = new SseReader({ port: server.port, path: '/asked?view=ui' });
  await reader.waitUntil(({ messages }) => messages.length > 0);
  await appendBatches(log, session, reads.slice(-1));
  await reader.waitForEnd();
  expect(reader.headers['x-vercel-ai-ui-message-stream']).toBe('v1');
  expect(reader.messages.filter(({ data }) => data === '[DONE]')).toHaveLength(1);
  expect(reader.messages.at(-1)?.data).toBe('[DONE]');
  expect(reader.messages.every(({ event }) => event === 'message')).toBe(true);
});

test('a session that is deleted ends its streams', async () => {
  await using it = await served();
  const reader = it.get('/asked?view=events');
  await reader.waitUntil(({ text }) => text.includes('run_finished'));
  await it.log.delete(session);
  await reader.waitForEnd();
  expect(reader.messages.at(-1)).toMatchObject({ event: 'end', data: '{"reason":"deleted"}' });
  expect((await it.get('/asked').waitForEnd()).status).toBe(404);
});

test('a closing server disconnects its viewers with a hint and accepts no more', async () => {
  await using it = await served({ limits: { retryMs: 4_321 } });
  const reader = it.get('/asked');
  await reader.waitUntil(({ messages }) => messages.length > 0);
  it.server.feeds.close();
  await reader.waitForEnd();
  expect(reader.error).toBeUndefined();
  expect(reader.text.endsWith('\n\nretry: 4321\n')).toBe(true);
  expect(reader.messages.some(({ event }) => event === 'end')).toBe(false);
  expect((await it.get('/asked').waitForEnd()).status).toBe(503);
});

test.each(['updates', 'events', 'records', 'ui'] as const)(
  '22.3: in a stream of %s, every blank line ends a frame with data',
  async (view) => {
    const clock = new TestClock();
    const log = memoryLog();
    const batches = recordedRun(1);
    const half = Math.floor(batches.length / 2);
    await appendBatches(log, session, batches.slice(0, half));
    const current = { current: () => task, onChange: () => () => {} };
    const limits = { heartbeatMs: 1000, retryMs: 4_321 };
    const stream = { task: current };
    await using server = await startStreamServer({ log, clock, limits, stream });
    const reader = new SseReader({ port: server.port, path: `/asked?view=${view}` });
    await reader.waitUntil(({ messages }) => messages.length > 0);
    await appendBatches(log, session, batches.slice(half, -1));
    await reader.waitUntil(({ messages }) => messages.some(({ id }) => id !== undefined));
    while (reader.parser.comments === 0 && !reader.isEnded) {
      await clock.advance(1000);
      await settled();
    }
    server.feeds.close();
    await reader.waitForEnd();
    // Agentex's Python client reads the data of an event at each blank line, including a blank line after a
    // comment.
    const blocks = reader.text.split('\n\n').slice(0, -1);
    expect(blocks.filter((block) => !/^data: /m.test(block))).toEqual([]);
    expect([reader.parser.retryMs, reader.text.includes(': ping')]).toEqual([4_321, true]);
  },
);
