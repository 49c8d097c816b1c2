import { countingIds, sessionId } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import type { TaskMessage, Update } from '../contract/message.ts';
import { byId, shownByAgentex } from '../testing/agentex-client.ts';
import { shownByUi } from '../testing/ai-sdk-client.ts';
import { CuttingProxy } from '../testing/cutting-proxy.ts';
import { appendBatches, recordedRun, userMessage } from '../testing/recorded-run.ts';
import { startStreamServer } from '../testing/servers/stream-server.ts';
import { type SseMessage, SseReader } from '../testing/sse-reader.ts';
import { messagesOf } from '../updates/task-messages.ts';
import { views } from './frames/views.ts';

const session = sessionId('recorded');
const ids = countingIds();
/** The last message marks the end for views that have no end frame. */
const recorded = [...recordedRun(2, ids), userMessage(ids, 'the end')];
const isEnd = ({ data }: SseMessage) => data === '[DONE]' || data.includes('"the end"');

/**
 * Functions that return the content a client shows after it listed the messages and received these frames.
 */
const shown = {
  ui: async (messages: readonly SseMessage[]) => shownByUi(messages.map(({ data }) => ({ data }))),
  updates: async (messages: readonly SseMessage[], listed: readonly TaskMessage[]) => {
    const all = messages.map(({ data }) => JSON.parse(data) as Update | { type: 'connected' });
    const updates = all.filter((update): update is Update => update.type !== 'connected');
    return byId(shownByAgentex(updates, listed).messages);
  },
} as const;

/** Number of frames before the restatement itself. */
const openings = { ui: 0, updates: 1 } as const;

/**
 * A client without a cursor connects after some reads. Its connection is cut inside the restated frames. Then
 * it reconnects without a cursor and reads to the end.
 */
async function readRestated(view: 'ui' | 'updates', reads: number, cutAt: number) {
  const log = memoryLog({ clock: new TestClock() });
  await appendBatches(log, session, recorded.slice(0, reads));
  await using server = await startStreamServer({ log });
  const proxy = await CuttingProxy.before(server.port);
  const state = await snapshot(log, session);
  const restated = (views[view]?.restate(state).length ?? 0) + openings[view];
  const path = `/recorded?view=${view}`;
  const connect = () => new SseReader({ port: proxy.port, path });
  const hasAll = ({ messages }: SseReader) => messages.length >= restated;
  // Measures the restated frames, because the cut must fall into them.
  const whole = connect();
  await whole.waitUntil(hasAll);
  const bytes = proxy.passed[0] ?? 0;
  proxy.cutNext(cutAt % bytes);
  await connect().waitForEnd();
  const reader = connect();
  await reader.waitUntil(hasAll);
  await appendBatches(log, session, recorded.slice(reads), { isClosed: true });
  for (const one of [reader, whole]) await one.waitUntil(({ messages }) => messages.some(isEnd));
  for (const one of [reader, whole]) one.disconnect();
  await proxy.close();
  await log.close();
  const listed = messagesOf(state);
  const [again, uncut] = [reader, whole].map((one) => shown[view](one.messages, listed));
  return { again: await again, uncut: await uncut, cut: proxy.passed[1] };
}

describe.each(['ui', 'updates'] as const)('law 5 over sockets, %s, without a cursor', (view) => {
  test('cut inside the restatement and restated again, it equals the uncut stream', async () => {
    const wholeLog = memoryLog({ clock: new TestClock() });
    await appendBatches(wholeLog, session, recorded, { isClosed: true });
    await using server = await startStreamServer({ log: wholeLog });
    const all = new SseReader({ port: server.port, path: `/recorded?view=${view}&from=0` });
    await all.waitUntil(({ messages }) => messages.some(isEnd));
    all.disconnect();
    expect(all.messages.length).toBeGreaterThan(100);
    const uncut = await shown[view](all.messages, []);
    const reads = fc.integer({ min: 2, max: recorded.length - 2 });
    await fc.assert(
      fc.asyncProperty(reads, fc.nat(), async (count, cutAt) => {
        const read = await readRestated(view, count, cutAt);
        expect(read.again).toEqual(uncut);
        expect(read.uncut).toEqual(uncut);
      }),
      { numRuns: runs(60) },
    );
    await wholeLog.close();
  });
});
