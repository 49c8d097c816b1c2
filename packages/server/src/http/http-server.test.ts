import { once } from 'node:events';
import { connect } from 'node:net';
import { TestClock } from '@millrace/log/suite';
import { describe, expect, test } from 'vitest';
import { eventually } from '../testing/servers/task-harness.ts';
import { startTestServer } from '../testing/servers/test-server.ts';

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;

describe('closing a server', () => {
  test('waits for running work, rejects new requests with retry-after, then stops listening', async () => {
    const at = await startTestServer();
    const { promise: isFinished, resolve: finish } = Promise.withResolvers<void>();
    const closed = at.server.close(() => isFinished);
    const { status, headers, json } = await at.request('/tasks');
    expect([status, headers.get('retry-after'), json.error.code]).toEqual([
      503,
      '1',
      'unavailable',
    ]);
    expect(headers.get('connection')).toBe('close');
    finish();
    await closed;
    await expect(at.request('/tasks')).rejects.toThrow();
  });

  test('closes idle connections at once', async () => {
    const at = await startTestServer();
    const socket = connect(at.port, '127.0.0.1');
    socket.write(get('/healthz'));
    await new Promise((resolve) => socket.once('data', resolve));
    const disconnected = new Promise((resolve) => socket.once('close', resolve));
    await at.server.close();
    await disconnected;
  });

  test('closes connections without a request at once, also those that open while it closes', async () => {
    const at = await startTestServer({ clock: new TestClock() });
    const disconnected: Promise<unknown>[] = [];
    const connected = async () => {
      const socket = connect(at.port, '127.0.0.1');
      disconnected.push(new Promise((resolve) => socket.once('close', resolve)));
      await once(socket, 'connect');
      // Connections are accepted in order, so the unused connection was accepted before this one.
      await (await fetch(at.url, { headers: { connection: 'close' } })).text();
    };
    await connected();
    // The clock does not move, so no timeout can close the connections.
    await at.server.close(connected);
    await Promise.all(disconnected);
    expect(disconnected).toHaveLength(2);
  });

  test('closes connections that do not end before the timeout', async () => {
    const clock = new TestClock();
    const at = await startTestServer({
      clock,
      streams: {
        serve: async ({ response }) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
          await new Promise(() => {});
        },
        close: async () => {},
      },
    });
    const { json } = await at.request('/agents/name/echo/rpc', { body: { method: 'task/create' } });
    const socket = connect(at.port, '127.0.0.1');
    socket.write(get(`/tasks/${json.result.id}/stream`));
    const read = await new Promise((resolve) => socket.once('data', resolve));
    expect(String(read)).toContain('200 OK');
    const disconnected = new Promise((resolve) => socket.once('close', resolve));
    let isClosed = false;
    const closed = at.server.close().then(() => {
      isClosed = true;
    });
    await clock.advance(4999);
    expect(isClosed).toBe(false);
    await clock.advance(1);
    await closed;
    await disconnected;
  });

  test('happens once, even if close is called twice', async () => {
    const at = await startTestServer();
    let finished = 0;
    const finish = async () => {
      finished++;
    };
    await Promise.all([at.server.close(finish), at.server.close(finish)]);
    expect(finished).toBe(1);
  });

  test('completes if the running work fails, and rejects with its error', async () => {
    const at = await startTestServer();
    await expect(at.server.close(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(at.request('/healthz')).rejects.toThrow();
  });
});

describe('the request log', () => {
  async function linesOf(format: 'text' | 'json'): Promise<readonly string[]> {
    const lines: string[] = [];
    const clock = new TestClock(Date.UTC(2026, 0, 2, 3, 4, 5));
    const requestLog = { format, write: (line: string) => lines.push(line) };
    const at = await startTestServer({ clock, requestLog });
    await at.request('/agents/name/echo/rpc', { body: { method: 'task/create' } });
    await at.request('/tasks/unknown?secret=1');
    await at.server.close();
    return lines;
  }

  test('has one text line per request', async () => {
    const [first, second] = await linesOf('text');
    const form =
      /^2026-01-02T03:04:05\.000Z POST \/agents\/name\/echo\/rpc task\/create 200 0 ms 127\.0\.0\.1 \w+$/;
    expect(first).toMatch(form);
    expect(second).toMatch(/ GET \/tasks\/unknown 404 /);
  });

  test('has one JSON line per request', async () => {
    const [first = '', second = ''] = await linesOf('json');
    expect(JSON.parse(first)).toMatchObject({
      time: '2026-01-02T03:04:05.000Z',
      kind: 'request',
      method: 'POST',
      path: '/agents/name/echo/rpc',
      what: 'task/create',
      status: 200,
      address: '127.0.0.1',
    });
    expect(JSON.parse(second)).toMatchObject({ path: '/tasks/unknown', status: 404 });
  });

  test('has no failure if a client disconnects in the middle of a body', async () => {
    const lines: string[] = [];
    const requestLog = { format: 'json', write: (line: string) => lines.push(line) } as const;
    await using at = await startTestServer({ requestLog });
    const head = 'POST /messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
    const socket = connect(at.port, '127.0.0.1');
    socket.write(`${head}content-length: 100\r\nexpect: 100-continue\r\n\r\n`);
    // The 100 Continue response shows that the server has read the headers.
    const [response] = await once(socket, 'data');
    expect(String(response)).toContain('100 Continue');
    socket.destroy();
    await eventually(async () => lines.some((line) => line.includes('/messages')));
    expect(lines.filter((line) => line.includes('"failure"'))).toEqual([]);
  });

  test('has the location of an unexpected error, but not its message', async () => {
    const lines: string[] = [];
    const requestLog = { format: 'text', write: (line: string) => lines.push(line) } as const;
    await using at = await startTestServer({
      requestLog,
      streams: {
        serve: async () => Promise.reject(new TypeError('the password is swordfish')),
        close: async () => {},
      },
    });
    const { json } = await at.request('/agents/name/echo/rpc', { body: { method: 'task/create' } });
    const { status, json: refusal, text } = await at.request(`/tasks/${json.result.id}/stream`);
    expect([status, refusal.error.code]).toEqual([500, 'internal']);
    const failure = lines.find((line) => line.includes('failure'));
    expect(failure).toMatch(/failure \w+: TypeError at .*http-server\.test\.ts/);
    expect(refusal.message).toContain(/failure (\w+)/.exec(failure ?? '')?.[1]);
    expect(lines.join('\n') + text).not.toContain('swordfish');
  });
});
