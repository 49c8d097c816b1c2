import { existsSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { itemAt, pauseMs, wordAt } from './page-content.ts';

export interface ChunkServer extends AsyncDisposable {
  readonly url: string;
}

const types: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' };

/**
 * Starts a server for pages with useChat. It sends each delta immediately as one chunk, like the AI
 * SDK. The path `/api/messages/12` returns a chat with 12 messages.
 */
export async function serveChunks(
  page: string,
  deltas: number,
  onWord: (count: number) => void,
): Promise<ChunkServer> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://server');
    if (pathname === '/api/chat') return void streamAnswer(response, deltas, onWord);
    const [, count] = /^\/api\/messages\/(\d+)$/.exec(pathname) ?? [];
    if (count !== undefined) return void response.end(storedMessages(Number(count)));
    const file = join(page, pathname === '/' ? 'index.html' : pathname);
    if (!existsSync(file)) return void response.writeHead(404).end();
    const type = types[extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' });
    response.end(gzipSync(readFileSync(file)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function streamAnswer(
  response: ServerResponse,
  deltas: number,
  onWord: (count: number) => void,
): Promise<void> {
  const headers = { 'x-vercel-ai-ui-message-stream': 'v1', 'cache-control': 'no-cache' };
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
  const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  send({ type: 'start' });
  send({ type: 'start-step' });
  send({ type: 'text-start', id: '1' });
  for (let count = 1; count <= deltas; count++) {
    send({ type: 'text-delta', id: '1', delta: wordAt(count) });
    onWord(count);
    await setTimeout(pauseMs);
  }
  send({ type: 'text-end', id: '1' });
  send({ type: 'finish-step' });
  send({ type: 'finish' });
  response.end('data: [DONE]\n\n');
}

function storedMessages(count: number): string {
  const text = (index: number) => [{ type: 'text', text: itemAt(index) }];
  return JSON.stringify(
    Array.from({ length: count }, (_, at) => ({ id: `${at}`, role: 'assistant', parts: text(at) })),
  );
}
