import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  isInitializeRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { type TestServerOptions, TestToolList, testServer } from './mcp-test-server.ts';

type Handle = (request: Request) => Promise<Response>;

export interface TestHttpServer {
  readonly url: string;
  /** The method and headers of each request. */
  readonly requests: readonly { readonly method: string; readonly headers: Headers }[];
  /** Drops all sessions, as a restarted server does. */
  forget(): void;
  /** Cuts all connections, as a crashed server does. */
  cut(): void;
  /** Replaces the handler of all requests. Undefined restores the usual handler. */
  answerWith(handle: ((request: Request, usual: Handle) => Promise<Response>) | undefined): void;
  close(): Promise<void>;
}

/**
 * Starts the test server on a local port. `modern` uses the protocol revision of 2026. `sessions` uses an
 * older revision with sessions.
 */
export async function startHttpServer(
  revision: 'modern' | 'sessions',
  options: TestServerOptions = {},
): Promise<TestHttpServer> {
  const list = new TestToolList(options.extra);
  const requests: { method: string; headers: Headers }[] = [];
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const handle = revision === 'modern' ? modern(list, options) : sessional(list, options, sessions);
  let instead: Parameters<TestHttpServer['answerWith']>[0];
  const server = createServer((incoming, outgoing) => {
    const request = requestOf(incoming, outgoing);
    requests.push({ method: request.method, headers: request.headers });
    void answer(outgoing, instead === undefined ? handle(request) : instead(request, handle));
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    forget: () => sessions.clear(),
    cut: () => server.closeAllConnections(),
    answerWith: (other) => {
      instead = other;
    },
    close: () => closeServer(server),
  };
}

function modern(list: TestToolList, options: TestServerOptions): Handle {
  const handler = createMcpHandler(() => testServer(list, options), { legacy: 'reject' });
  const before = list.change.bind(list);
  list.change = () => {
    before();
    handler.notify.toolsChanged();
  };
  return (request) => handler.fetch(request);
}

function sessional(
  list: TestToolList,
  options: TestServerOptions,
  sessions: Map<string, WebStandardStreamableHTTPServerTransport>,
): Handle {
  return async (request) => {
    const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
    if (known !== undefined) return known.handleRequest(request);
    const body: unknown = request.method === 'POST' ? await request.clone().json() : undefined;
    if (!isInitializeRequest(body)) return new Response('Session not found', { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await testServer(list, options).connect(transport);
    return transport.handleRequest(request);
  };
}

function requestOf(incoming: IncomingMessage, outgoing: ServerResponse): Request {
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  const { method = 'GET', headers, url = '/' } = incoming;
  const hasBody = method === 'POST';
  return new Request(new URL(url, `http://${headers.host}`), {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    signal: gone.signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}),
  });
}

async function answer(outgoing: ServerResponse, answered: Promise<Response>): Promise<void> {
  try {
    const response = await answered;
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    if (response.body === null) outgoing.end();
    else await pipeline(Readable.fromWeb(response.body as never), outgoing);
  } catch {
    outgoing.destroy();
  }
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.once('close', resolve));
  server.close();
  server.closeAllConnections();
  await closed;
}
