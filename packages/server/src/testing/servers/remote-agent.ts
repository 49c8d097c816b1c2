import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@millrace/core';
import { onTestFinished } from 'vitest';

export interface RemoteCall {
  readonly method: string;
  readonly params: JsonObject;
  readonly id: unknown;
  readonly headers: IncomingMessage['headers'];
}

interface TestRemoteAgent {
  readonly url: string;
  readonly calls: readonly RemoteCall[];
  /** Stops listening and closes all connections. */
  stop(): Promise<void>;
}

type Answer = (call: RemoteCall, response: ServerResponse) => void | Promise<void>;

/** Starts a fake remote agent on a free port. */
export async function startRemoteAgent(
  answer: Answer,
  health: (response: ServerResponse) => void = (response) =>
    void response.end('{"status":"healthy"}'),
): Promise<TestRemoteAgent> {
  const calls: RemoteCall[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/healthz') return health(response);
    void readCall(request).then(async (call) => {
      calls.push(call);
      await answer(call, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const die = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(die);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, calls, stop: die };
}

async function readCall(request: IncomingMessage): Promise<RemoteCall> {
  const body = await request.toArray();
  const { method, params, id } = JSON.parse(Buffer.concat(body).toString()) as RemoteCall;
  return { method, params, id, headers: request.headers };
}

/** Returns one line of a streamed answer. */
export function resultLine(result: unknown, more: JsonObject = {}): string {
  return `${JSON.stringify({ jsonrpc: '2.0', result, error: null, id: null, ...more })}\n`;
}

/** Answers a call that expects no result. */
export function acknowledge(response: ServerResponse, { id }: RemoteCall): void {
  response.setHeader('content-type', 'application/json');
  const result = { status: 'processing' };
  response.end(JSON.stringify({ jsonrpc: '2.0', result, error: null, id }));
}
