import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { countingIds, DeltaWriter, itemId, sessionId } from '@millrace/core';
import { type BlobStore, type Log, memoryLog } from '@millrace/log';
import { afterEach, describe, expect, test } from 'vitest';
import type { ServedAgent } from '../../contract/served-agent.ts';
import { createServer, type Server } from '../../create-server.ts';

const agent: ServedAgent = { type: 'sync', name: 'agent', async *onMessage() {} };
const sliceBytes = 2 ** 20;
const bytes = Uint8Array.from({ length: 3 * sliceBytes + 7 }, (_, index) => (index * 7919) % 251);

let server: Server | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** A log whose blobs are read by `slice`. */
function withSlices(log: Log, slice: BlobStore['slice']): Log {
  const blobs: BlobStore = {
    put: (given) => log.blobs.put(given),
    get: () => Promise.reject(new Error('the server must not read a whole blob')),
    slice,
  };
  return new Proxy(log, {
    get(target, name) {
      if (name === 'blobs') return blobs;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Starts a server with a task that refers to the blob. Returns the blob's URL. */
async function serve(slice?: (log: Log) => BlobStore['slice'], length = bytes.length) {
  const log = memoryLog();
  const { hash } = await log.blobs.put(bytes);
  const used = withSlices(log, slice?.(log) ?? ((...args) => log.blobs.slice(...args)));
  server = createServer({ tokens: 'none', agents: [agent], log: used });
  const { url } = await server.listen({ port: 0 });
  const response = await fetch(new URL('/agents/name/agent/rpc', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'task/create', params: {} }),
  });
  const { result: task } = (await response.json()) as { readonly result: { readonly id: string } };
  const driver = await log.open(sessionId(task.id), { takeOver: true });
  const [item, at] = [itemId('file'), { turn: 0, attempt: 0 }];
  const writer = new DeltaWriter({ itemId: item, ...at, ids: countingIds() });
  const source = { type: 'blob', hash, length } as const;
  writer.whole({ kind: 'media', mimeType: 'video/mp4', source });
  await driver.append([
    { ...at, fact: { type: 'item_started', itemId: item, kind: 'user' } },
    ...writer.take().map((delta) => ({ ...at, delta })),
    { ...at, fact: { type: 'item_finished', itemId: item } },
  ]);
  await driver.release();
  return { url: new URL(`/tasks/${task.id}/blobs/${hash}`, url), hash };
}

describe('21.D: the server sends a blob', () => {
  test('in slices', async () => {
    const { url } = await serve();
    const response = await fetch(url);
    expect(response.headers.get('content-length')).toBe(String(bytes.length));
    expect(response.headers.get('accept-ranges')).toBe('bytes');
    const sent = new Uint8Array(await response.arrayBuffer());
    expect(Buffer.compare(sent, bytes)).toBe(0);
  });

  test.each([
    ['bytes=0-0', 0, 1],
    ['bytes=10-19', 10, 20],
    [`bytes=${sliceBytes - 2}-${2 * sliceBytes + 1}`, sliceBytes - 2, 2 * sliceBytes + 2],
    ['bytes=3145728-', 3 * sliceBytes, bytes.length],
    ['bytes=-5', bytes.length - 5, bytes.length],
    ['bytes=3145730-99999999', 3 * sliceBytes + 2, bytes.length],
  ])('as the range %s', async (range, start, end) => {
    const { url } = await serve();
    const response = await fetch(url, { headers: { range } });
    expect(response.status).toBe(206);
    expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${bytes.length}`);
    const sent = new Uint8Array(await response.arrayBuffer());
    expect(Buffer.compare(sent, bytes.subarray(start, end))).toBe(0);
  });

  test.each(['bytes=99999999-', 'bytes=-0'])(
    'not for %s, which is outside of it',
    async (range) => {
      const { url } = await serve();
      const response = await fetch(url, { headers: { range } });
      expect(response.status).toBe(416);
      expect(response.headers.get('content-range')).toBe(`bytes */${bytes.length}`);
    },
  );

  test.each([
    { range: 'bytes=0-1,4-5' },
    { range: 'lines=1-2' },
    { range: 'bytes=5-2' },
    { range: 'bytes=0-1', 'if-range': '"another"' },
  ])('whole for the headers %o', async (headers) => {
    const { url } = await serve();
    const response = await fetch(url, { headers });
    expect(response.status).toBe(200);
    expect((await response.arrayBuffer()).byteLength).toBe(bytes.length);
  });

  test('no faster than the client reads', async () => {
    const count = 500;
    let slices = 0;
    const { url } = await serve(
      () => async () => {
        slices++;
        return new Uint8Array(sliceBytes);
      },
      count * sliceBytes,
    );
    const [response] = (await once(get(url), 'response')) as [IncomingMessage];
    response.pause();
    // The server reads until the buffers of the connection are full.
    for (let last = -1, quiet = 0; quiet < 100; quiet = slices === last ? quiet + 1 : 0) {
      last = slices;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(slices).toBeLessThan(count / 5);
    response.destroy();
  });

  test('until the store fails, and then closes only that connection', async () => {
    const { url } = await serve((log) => async (hash, start, end) => {
      if (start > sliceBytes) throw new Error('the driver failed');
      return log.blobs.slice(hash, start, end);
    });
    const response = await fetch(url);
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer()).rejects.toThrow();
    const early = await fetch(url, { headers: { range: 'bytes=0-9' } });
    expect((await early.arrayBuffer()).byteLength).toBe(10);
    const late = await fetch(url, { headers: { range: 'bytes=-9' } });
    expect(late.status).toBe(500);
  });

  test('and closes the connection if the stored blob is shorter than its message says', async () => {
    const { url } = await serve(undefined, bytes.length + 1);
    const response = await fetch(url);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });
});
