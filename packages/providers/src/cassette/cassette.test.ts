import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { Clock } from '../transport/clock.ts';
import {
  type Cassette,
  decodeCassette,
  encodeCassette,
  recordCassette,
  replayFetch,
} from './index.ts';

/** What a server says, cut where no character ends, and how long each piece takes. */
const pieces: readonly (readonly [afterMs: number, bytes: Buffer])[] = [
  [250, Buffer.from('event: ping\ndata: {}\n\n')],
  [5, Buffer.from('data: {"text":"caf\u00e9"}\n\n').subarray(0, 19)],
  [0, Buffer.from('data: {"text":"caf\u00e9"}\n\n').subarray(19)],
  [1000, Buffer.from('data: [DONE]\n\n')],
];

/** A clock without waiting: who waits for a moment is there at once. */
class JumpingClock implements Clock {
  time = 0;
  now(): number {
    return this.time;
  }
  after(ms: number, run: () => void): () => void {
    const task = setImmediate(() => {
      this.time += ms;
      run();
    });
    return () => clearImmediate(task);
  }
}

interface Heard {
  readonly atMs: number;
  readonly bytes: string;
}

/** Asks, and tells after each read what it gave; `onRead` hears of it before the next one. */
async function ask(
  fetch: typeof globalThis.fetch,
  url: string,
  clock: Clock,
  onRead: () => void = () => {},
): Promise<readonly Heard[]> {
  const heard: Heard[] = [];
  const startedAt = clock.now();
  const response = await fetch(url, { method: 'POST', body: '{"stream":true}' });
  for await (const chunk of response.body ?? []) {
    heard.push({ atMs: clock.now() - startedAt, bytes: Buffer.from(chunk).toString('hex') });
    onRead();
  }
  return heard;
}

/** A real server that sends each piece when the one before has been read. */
async function recordLive(): Promise<{ cassette: Cassette; heard: readonly Heard[] }> {
  const clock = new JumpingClock();
  const left = [...pieces];
  let send = () => {};
  const server = createServer((_, response) => {
    send = () => {
      const [afterMs = 0, bytes] = left.shift() ?? [];
      clock.time += afterMs;
      if (bytes === undefined) response.end();
      else response.write(bytes);
    };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    send();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const recorder = recordCassette({ clock });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat`;
  const heard = await ask(recorder.fetch, url, clock, () => send());
  const cassette = await recorder.settled();
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  return { cassette, heard };
}

test('a stream that was recorded live comes back in the same pieces at the same times', async () => {
  const { cassette, heard } = await recordLive();
  expect(heard.map(({ bytes }) => bytes)).toEqual(pieces.map(([, bytes]) => bytes.toString('hex')));
  expect(heard.map(({ atMs }) => atMs)).toEqual([250, 255, 255, 1255]);

  const read = decodeCassette(encodeCassette(cassette));
  expect(read).toEqual(cassette);
  for (const speed of [1, 4]) {
    const clock = new JumpingClock();
    const replay = replayFetch(read, { speed, clock });
    const again = await ask(replay, 'https://elsewhere.example/v1/chat', clock);
    expect(again).toEqual(heard.map(({ atMs, bytes }) => ({ atMs: atMs / speed, bytes })));
  }
  const instant = await ask(replayFetch(read), 'https://x.example/v1/chat', new JumpingClock());
  expect(instant.map(({ bytes }) => bytes)).toEqual(heard.map(({ bytes }) => bytes));
});
