import { once } from 'node:events';
import { createServer as createNodeServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Server } from '../../create-server.ts';

/** A request in the form that a client without a library writes. */
interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** A server on a port of the test, with the bytes that its clients have not read. */
export interface WatchedServer {
  readonly url: string;
  /** The largest number of unread bytes that the replies had together at one time. */
  mostUnread(): number;
  /** The largest number of writes to replies in one turn of the event loop, since the last call. */
  takeMostWrites(): number;
  /** Sends a request and never reads its answer. */
  neverRead(request: RawRequest): Socket;
}

const noTimeouts = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };

/** Serves a server through the handler for Node servers, to watch the replies of the handler. */
export async function watchReplies(server: Pick<Server, 'handler'>): Promise<WatchedServer> {
  const open = new Set<ServerResponse>();
  let most = 0;
  const writes = countPerTurn();
  const measure = () => {
    writes.count();
    const unread = [...open].reduce((sum, { writableLength }) => sum + writableLength, 0);
    most = Math.max(most, unread);
  };
  const handle = server.handler();
  // The server of a slow machine answers late, and must not close the connections of the test before.
  const node = createNodeServer(noTimeouts, (request, response) => {
    open.add(response);
    response.once('close', () => open.delete(response));
    for (const name of ['write', 'end'] as const) {
      const original = response[name].bind(response) as (...args: unknown[]) => unknown;
      Object.assign(response, {
        [name]: (...args: unknown[]) => {
          const result = original(...args);
          measure();
          return result;
        },
      });
    }
    handle(request, response);
  });
  node.listen(0, '127.0.0.1');
  await once(node, 'listening');
  onTestFinished(() => {
    node.closeAllConnections();
    node.close();
  });
  const { port } = node.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  return {
    url: `http://${host}`,
    mostUnread: () => most,
    takeMostWrites: writes.take,
    neverRead({ method, path, headers, body = '' }) {
      const socket = connect({ host: '127.0.0.1', port });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => {});
      socket.pause();
      const all = { host, ...headers, 'content-length': String(Buffer.byteLength(body)) };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
      return socket;
    },
  };
}

/** The highest number of unread bytes: the limit of 64 MiB, and the reply that reaches it. */
export const maxUnread = (replyBytes: number): number => 64 * 2 ** 20 + replyBytes;

/** Sends requests one after the other, so that the server can do all work that it has started. */
export async function letServerWork(url: string): Promise<void> {
  for (let times = 0; times < 100; times++) await (await fetch(`${url}/healthz`)).text();
}

/** Counts how often `count` is called in one turn of the event loop. `take` returns the largest number. */
export function countPerTurn() {
  let turn = 0;
  let [counted, inTurn, most] = [0, 0, 0];
  let isOver = false;
  const next = () => {
    turn++;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  onTestFinished(() => {
    isOver = true;
  });
  return {
    count() {
      if (counted !== turn) [counted, inTurn] = [turn, 0];
      most = Math.max(most, ++inTurn);
    },
    take() {
      const taken = most;
      [inTurn, most] = [0, 0];
      return taken;
    },
  };
}
