import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { startStreamServer } from '../testing/servers/stream-server.ts';
import { tickingClock } from '../testing/servers/task-harness.ts';
import { SseReader } from '../testing/sse-reader.ts';
import { updatesView } from '../updates/updates-view.ts';
import { views } from './frames/views.ts';

// One answer adds thousands of records at once. The server creates the frames of all of them, and other clients wait.

test('18.1364: attack: the frames of thousands of records are created in one turn of the event loop', async () => {
  const log = memoryLog();
  const session = sessionId('many');
  const driver = await log.open(session);
  const at = { turn: 1, attempt: 1 };
  await driver.append([{ ...at, attempt: 0, fact: { type: 'turn_started' } }]);
  let turn = 0;
  const countTurns = () => {
    turn += 1;
    timer = setImmediate(countTurns);
  };
  let timer = setImmediate(countTurns);
  const framesByTurn: number[] = [];
  const counted: typeof updatesView = {
    ...updatesView,
    frames: (...step) => {
      framesByTurn[turn] = (framesByTurn[turn] ?? 0) + 1;
      return updatesView.frames(...step);
    },
  };
  await using server = await startStreamServer({
    // Each reading of this clock takes a millisecond.
    ...{ log, clock: tickingClock(), views: { ...views, updates: counted } },
  });
  const reader = new SseReader({ port: server.port, path: '/many?view=updates&from=1' });
  await expect.poll(() => server.feeds.stats.viewers).toBe(1);
  const count = 3000;
  await driver.append([
    { ...at, fact: { type: 'item_started', itemId: 'i' as never, kind: 'assistant' } },
    ...Array.from({ length: count }, (_, n) => ({
      ...at,
      delta: {
        ...{ type: 'commit_part', itemId: 'i', partId: `1.1.p${n}` },
        part: { kind: 'text', text: `part ${n}` },
      } as never,
    })),
  ]);
  await reader.waitUntil(({ messages }) => messages.length > count);
  clearImmediate(timer);
  reader.disconnect();
  expect(reader.messages.filter(({ data }) => data.includes('"full"'))).toHaveLength(count);
  expect(Math.max(...framesByTurn.filter(() => true))).toBeLessThanOrEqual(640);
});
