import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { encodeBatch, sessionId } from '@millrace/core';
import { encodeFrame } from '@millrace/core/streams';
import { memoryLog } from '@millrace/log';
import { FeedRegistry } from '../../../packages/server/src/stream/feed-registry.ts';
import { views } from '../../../packages/server/src/stream/frames/views.ts';
import { streamTask } from '../../../packages/server/src/stream/stream-task.ts';
import { macrotask } from '../floor.ts';
import { median } from './fan-out.ts';
import { promptClock, textAppender } from './servers.ts';
import { Viewers } from './viewers.ts';

const tasks = 500;
const framesEach = 20;
const rounds = 5;

/** Streams many tasks at once, each with one viewer. */
export async function compareManyTasks(): Promise<void> {
  const log = memoryLog();
  const feeds = new FeedRegistry({ log, views, clock: promptClock, limits: { mergeMs: 0 } });
  const plain: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? '';
    if (name !== 'bare') {
      void streamTask({ feeds, session: sessionId(name), view: 'records', response });
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: hello\n\n');
    plain.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1024, resolve));
  const { port } = server.address() as AddressInfo;
  const appenders = await Promise.all(
    Array.from({ length: tasks }, async (_, index) => {
      const driver = await log.open(sessionId(`task${index}`), {
        leaseMs: Number.POSITIVE_INFINITY,
      });
      return textAppender(driver);
    }),
  );
  {
    await using ourViewers = await Viewers.start(port, tasks);
    await using bareViewers = await Viewers.start(port, tasks);
    await ourViewers.connect('/task{index}', 'item_started');
    await bareViewers.connect('/bare', 'hello');
    const times: [number[], number[]] = [[], []];
    for (let round = -1; round < rounds; round++) {
      const mark = `#round ${round}#`;
      const frames: Buffer[] = [];
      const ourMs = await deliver(ourViewers, mark, async (chunk) => {
        const batches = await Promise.all(appenders.map((send) => send(chunk)));
        const [batch] = batches;
        if (batch === undefined) return;
        frames.push(Buffer.from(encodeFrame({ id: `${batch.through}`, data: encodeBatch(batch) })));
      });
      const bareMs = await deliver(bareViewers, mark, async () => {
        const frame = frames.shift() ?? Buffer.alloc(0);
        for (const response of plain) response.write(frame);
      });
      if (round < 0) continue;
      times[0].push(ourMs);
      times[1].push(bareMs);
    }
    const [ourMs, bareMs] = times.map(median);
    const rate = (ms = 1) => Math.round((tasks * framesEach * 1000) / ms);
    console.log(
      `${tasks} tasks at once, a viewer each: ${rate(ourMs)} deliveries/s, committed and folded; bare node:http ${rate(bareMs)}: ${((bareMs ?? 0) / (ourMs ?? 1)).toFixed(2)} of it`,
    );
  }
  feeds.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await log.close();
}

async function deliver(
  viewers: Viewers,
  mark: string,
  send: (chunk: string) => Promise<void>,
): Promise<number> {
  const all = await viewers.expect(mark, { isFresh: true });
  const start = performance.now();
  for (let index = 1; index <= framesEach; index++) {
    await send(`about as much as a model says in a read, ${index === framesEach ? mark : ''}`);
    await macrotask();
    await macrotask();
  }
  await all();
  return performance.now() - start;
}
