import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  countingIds,
  DeltaWriter,
  encodeBatch,
  itemId,
  type SessionId,
  sessionId,
} from '@millrace/core';
import { encodeFrame } from '@millrace/core/streams';
import { type Clock, type Driver, memoryLog, systemClock } from '@millrace/log';
import { FeedRegistry } from '../../../packages/server/src/stream/feed-registry.ts';
import { views } from '../../../packages/server/src/stream/frames/views.ts';
import type { StreamLimits } from '../../../packages/server/src/stream/stream-limits.ts';
import { streamTask } from '../../../packages/server/src/stream/stream-task.ts';
import { macrotask } from '../floor.ts';

/** A server that streams text to all its viewers. */
export interface StreamServer extends AsyncDisposable {
  readonly port: number;
  /** The path of the stream. */
  readonly path: string;
  /** Sends one frame. Resolves when the frame was written to every connection that accepts data. */
  send(chunk: string): Promise<void>;
}

export interface MillraceServer extends StreamServer {
  readonly feeds: FeedRegistry;
  readonly session: SessionId;
  /** The last frame, exactly as it was sent. */
  readonly frame: Buffer;
  readonly through: number;
}

const at = { turn: 1, attempt: 1 };

/** A clock that runs timers of 0 ms in the next macrotask, so that each delta becomes one frame. */
export const promptClock: Clock = {
  now: () => systemClock.now(),
  after(ms, run, options) {
    if (ms > 0) return systemClock.after(ms, run, options);
    const soon = setImmediate(run);
    return () => clearImmediate(soon);
  },
};

export async function startMillraceServer(
  limits: Partial<StreamLimits> = { mergeMs: 0 },
): Promise<MillraceServer> {
  const log = memoryLog();
  const session = sessionId('bench');
  const driver = await log.open(session, { leaseMs: Number.POSITIVE_INFINITY });
  const text = await textAppender(driver);
  const feeds = new FeedRegistry({ log, views, clock: promptClock, limits });
  const server = createServer((request, response) => {
    const lastEventId = request.headers['last-event-id']?.toString();
    void streamTask({ feeds, session, view: 'records', response, lastEventId });
  });
  await listen(server);
  const sent = { frame: Buffer.alloc(0), through: 0 };
  return {
    port: portOf(server),
    path: '/',
    feeds,
    session,
    get frame() {
      return sent.frame;
    },
    get through() {
      return sent.through;
    },
    async send(chunk) {
      const batch = await text(chunk);
      sent.through = batch.through;
      sent.frame = Buffer.from(encodeFrame({ id: `${batch.through}`, data: encodeBatch(batch) }));
      await macrotask();
      await macrotask();
    },
    async [Symbol.asyncDispose]() {
      feeds.close();
      await stop(server);
      await log.close();
    },
  };
}

export async function textAppender(driver: Driver) {
  const item = itemId('answer');
  const writer = new DeltaWriter({ itemId: item, ...at, ids: countingIds() });
  let text = writer.text();
  await driver.append([{ ...at, fact: { type: 'item_started', itemId: item, kind: 'assistant' } }]);
  return (chunk: string) => {
    if (text.length > 2 ** 22) {
      text.commit();
      text = writer.text();
    }
    text.append(chunk);
    return driver.append(writer.take().map((delta) => ({ ...at, delta })));
  };
}

export interface BareServer extends StreamServer {
  /** Writes the bytes to all connections. */
  write(frame: Buffer): Promise<void>;
  /** The first bytes of each new connection. */
  greeting: Buffer;
}

/** Starts a server that uses only `node:http` and a list of responses. */
export async function startBareServer(
  greeting = Buffer.from('retry: 1000\n\ndata: hello\n\n'),
): Promise<BareServer> {
  const responses = new Set<ServerResponse>();
  const state = { greeting };
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.write(state.greeting);
    responses.add(response);
    response.on('close', () => responses.delete(response));
    response.on('error', () => {});
  });
  await listen(server);
  const write = async (frame: Buffer) => {
    for (const response of responses) response.write(frame);
    await macrotask();
    await macrotask();
  };
  return {
    port: portOf(server),
    path: '/',
    write,
    send: (chunk) => write(Buffer.from(`data: ${chunk}\n\n`)),
    get greeting() {
      return state.greeting;
    },
    set greeting(bytes) {
      state.greeting = bytes;
    },
    [Symbol.asyncDispose]: () => stop(server),
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', 1024, resolve));
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
