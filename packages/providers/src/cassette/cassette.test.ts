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

/** The pieces that a server sends, split inside characters, with the delay before each. */
const pieces: readonly (readonly [afterMs: number, bytes: Buffer])[] = [
  [250, Buffer.from('event: ping\ndata: {}\n\n')],
  [5, Buffer.from('data: {"text":"caf\u00e9"}\n\n').subarray(0, 19)],
  [0, Buffer.from('data: {"text":"caf\u00e9"}\n\n').subarray(19)],
  [1000, Buffer.from('data: [DONE]\n\n')],
];

/** A clock that runs timers immediately and jumps to their time. */
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

interface ReceivedRead {
  readonly atMs: number;
  readonly bytes: string;
}

/**
 * Sends a request and yields the time and text of each read. `onRead` is called before the next
 * read.
 */
async function readResponse(
  fetch: typeof globalThis.fetch,
  url: string,
  clock: Clock,
  onRead: () => void = () => {},
): Promise<readonly ReceivedRead[]> {
  const received: ReceivedRead[] = [];
  const startedAt = clock.now();
  const response = await fetch(url, { method: 'POST', body: '{"stream":true}' });
  for await (const chunk of response.body ?? []) {
    received.push({ atMs: clock.now() - startedAt, bytes: Buffer.from(chunk).toString('hex') });
    onRead();
  }
  return received;
}

/** A real server that sends each piece after the previous one has been read. */
async function recordLive(): Promise<{ cassette: Cassette; received: readonly ReceivedRead[] }> {
  const clock = new JumpingClock();
  const remaining = [...pieces];
  let send = () => {};
  const server = createServer((_, response) => {
    send = () => {
      const [afterMs = 0, bytes] = remaining.shift() ?? [];
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
  const received = await readResponse(recorder.fetch, url, clock, () => send());
  const cassette = await recorder.settled();
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  return { cassette, received };
}

test('a recorded live stream is replayed in the same pieces at the same times', async () => {
  const { cassette, received } = await recordLive();
  expect(received.map(({ bytes }) => bytes)).toEqual(
    pieces.map(([, bytes]) => bytes.toString('hex')),
  );
  expect(received.map(({ atMs }) => atMs)).toEqual([250, 255, 255, 1255]);

  const read = decodeCassette(encodeCassette(cassette));
  expect(read).toEqual(cassette);
  for (const speed of [1, 4]) {
    const clock = new JumpingClock();
    const replay = replayFetch(read, { speed, clock });
    const again = await readResponse(replay, 'https://elsewhere.example/v1/chat', clock);
    expect(again).toEqual(received.map(({ atMs, bytes }) => ({ atMs: atMs / speed, bytes })));
  }
  const instant = await readResponse(
    replayFetch(read),
    'https://x.example/v1/chat',
    new JumpingClock(),
  );
  expect(instant.map(({ bytes }) => bytes)).toEqual(received.map(({ bytes }) => bytes));
});

test('unknown options are refused', () => {
  const refusal = expect.objectContaining({ code: 'bad_option' });
  expect(() => recordCassette({ secret: ['k'] } as object)).toThrow(refusal);
  expect(() => recordCassette({ limits: { maxBytes: 1 } } as object)).toThrow(refusal);
  const empty: Cassette = decodeCassette(encodeCassette({ exchanges: [] } as never));
  expect(() => replayFetch(empty, { speeed: 2 } as object)).toThrow('Did you mean speed?');
});
