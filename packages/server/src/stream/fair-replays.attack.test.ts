import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { startStreamServer } from '../testing/servers/stream-server.ts';
import { SseReader } from '../testing/sse-reader.ts';
import { updatesView } from '../updates/updates-view.ts';
import { views } from './frames/views.ts';

// A client opens many streams that start at earlier records. The streams of other clients wait for them.

const count = 1500;
const streams = 8;
const at = { turn: 1, attempt: 1 };

/** Starts a server with tasks of many records, and counts the frames of all streams. */
async function startTasks(names: readonly string[]) {
  const log = memoryLog();
  for (const name of names) {
    const driver = await log.open(sessionId(name));
    await driver.append([
      { ...at, attempt: 0, fact: { type: 'turn_started' } },
      { ...at, fact: { type: 'item_started', itemId: 'i' as never, kind: 'assistant' } },
      ...Array.from({ length: count }, (_, n) => ({
        ...at,
        delta: {
          ...{ type: 'commit_part', itemId: 'i', partId: `1.1.p${n}` },
          part: { kind: 'text', text: `part ${n};` },
        } as never,
      })),
    ]);
  }
  const frames = { count: 0 };
  const counted: typeof updatesView = {
    ...updatesView,
    frames: (...step) => {
      frames.count += 1;
      return updatesView.frames(...step);
    },
  };
  const server = await startStreamServer({ log, views: { ...views, updates: counted } });
  const open = (task: string, from: number, caller: string) => {
    const path = `/${task}?view=updates&from=${from}&caller=${caller}`;
    return new SseReader({ port: server.port, path });
  };
  return { server, frames, open };
}

const isWhole = ({ messages }: SseReader) =>
  messages.some(({ data }) => data.includes(`part ${count - 1};`));

test.for([
  ['one task', () => 'shared'],
  ['many tasks', (index: number) => `own${index}`],
] as const)(
  '18.1535: attack: a client reads %s in many streams from their start, and another client waits',
  async ([, taskOf]) => {
    const tasks = Array.from({ length: streams }, (_, index) => taskOf(index));
    const { server, frames, open } = await startTasks([...new Set([...tasks, 'shared'])]);
    await using _ = server;
    const hostile = tasks.map((task, index) => open(task, index + 2, 'hostile'));
    await expect.poll(() => server.feeds.stats.viewers).toBe(streams);
    const before = frames.count;
    const other = open('shared', streams + 2, 'other');
    await other.waitUntil(isWhole);
    // The streams of the two clients continue in turns. Some more frames of the other client are written while this
    // client connects, and while its last frame is on the way. Without turns, 9 streams are written.
    expect(frames.count - before).toBeLessThan(5 * count);
    for (const reader of [...hostile, other]) reader.disconnect();
  },
);

test('18.1536: attack: a client delays the same replay that another client needs', async () => {
  const tasks = ['shared', ...Array.from({ length: streams }, (_, index) => `own${index}`)];
  const { server, frames, open } = await startTasks(tasks);
  await using _ = server;
  const hostile = [...tasks.slice(1), 'shared'].map((task) => open(task, 2, 'hostile'));
  await expect.poll(() => server.feeds.stats.viewers).toBe(tasks.length);
  const before = frames.count;
  const other = open('shared', 2, 'other');
  await other.waitUntil(isWhole);
  expect(frames.count - before).toBeLessThan(5 * count);
  for (const reader of [...hostile, other]) reader.disconnect();
});
