import { join } from 'node:path';
import { DurableStream, IdempotentProducer, stream } from '@durable-streams/client';
import { decodeRecord, Folder, sessionId, transcript } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { TestClock } from '@millrace/log/suite';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../create-server.ts';
import { CuttingProxy } from '../../testing/cutting-proxy.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { temporaryFolder } from '../../testing/servers/task-harness.ts';

const json = { 'content-type': 'application/json' };

async function serveStreams(log: Log = memoryLog(), clock?: TestClock) {
  const server = createServer({
    ...{ tokens: 'none', log, clock, limits: { longPollTimeoutMs: 200, closeTimeoutMs: 200 } },
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  return { url: `${url}/streams`, log };
}

test('24.6: the client of Durable Streams writes a stream and reads it live', async () => {
  const { url } = await serveStreams();
  const handle = await DurableStream.create({
    ...{ url: `${url}/orders`, contentType: 'application/json' },
  });
  const producer = new IdempotentProducer(handle, 'shop', { autoClaim: true });
  for (let order = 1; order <= 20; order++) producer.append(JSON.stringify({ order }));
  await producer.flush();
  const seen: unknown[] = [];
  const live = await stream<{ order: number }>({
    ...{ url: `${url}/orders`, offset: '-1', live: 'sse' },
  });
  live.subscribeJson(({ items }) => {
    seen.push(...items);
    return Promise.resolve();
  });
  await expect.poll(() => seen.length).toBe(20);
  await handle.append(JSON.stringify({ order: 21 }));
  await expect.poll(() => seen.length).toBe(21);
  live.cancel();
  expect(seen).toEqual(Array.from({ length: 21 }, (_, n) => ({ order: n + 1 })));
});

test('24.6: the records of a task are a stream, and its transcript is the same', async () => {
  const { client, url, log } = await serveOpenAi(['It is sunny.']);
  const response = await client.responses.create({ model: 'helper', input: 'Hi' });
  const id = response.conversation?.id ?? '';
  const path = `${url}/streams/tasks/${id}`;
  const read = await fetch(path);
  const records = ((await read.json()) as readonly object[]).map((record) =>
    decodeRecord(JSON.stringify(record)),
  );
  const expected = await snapshot(log, sessionId(id));
  const folder = new Folder(id);
  for (const record of records) folder.add(record);
  expect(transcript(folder.state)).toEqual(transcript(expected));
  const end = read.headers.get('stream-next-offset') ?? '';
  const { incarnation, through } = (await log.info(sessionId(id))) ?? {};
  expect(end).toBe(`${String(through).padStart(16, '0')}_${incarnation}`);
  expect((await fetch(path, { method: 'HEAD' })).headers.get('stream-next-offset')).toBe(end);
  // An offset of another history of the log is refused.
  const rewound = end.replace(/_.*/, '_otherhistory');
  expect((await fetch(`${path}?offset=${rewound}`)).status).toBe(410);
  for (const method of ['PUT', 'POST', 'DELETE']) {
    const refused = await fetch(path, { method });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  }
});

test('24.6: numbers keep their digits, and empty parts of arrays are no messages', async () => {
  const { url } = await serveStreams();
  const body = ' [ 12345678901234567890, "a,]\\"", [1, {"b": [] }] , 1.50 ] ';
  await fetch(`${url}/numbers`, { method: 'PUT', headers: json, body });
  const text = await (await fetch(`${url}/numbers`)).text();
  expect(text).toBe('[12345678901234567890,"a,]\\"",[1, {"b": [] }],1.50]');
});

test('24.6: a reader whose connection is cut at any byte gets the same data', async () => {
  const { url } = await serveStreams();
  const address = new URL(`${url}/letters`);
  await fetch(address, { method: 'PUT', headers: { 'content-type': 'text/plain' } });
  const lines = Array.from({ length: 30 }, (_, n) => `line ${n} with ü\n`);
  for (const body of lines)
    await fetch(address, { method: 'POST', headers: { 'content-type': 'text/plain' }, body });
  await fetch(address, { method: 'POST', headers: { 'stream-closed': 'true' } });
  const proxy = await CuttingProxy.before(Number(address.port));
  onTestFinished(() => proxy.close());
  for (let first = 200; first < 2500; first += 97) {
    proxy.cutNext(first, first + 31);
    expect(await readEvents(`http://127.0.0.1:${proxy.port}/streams/letters`)).toBe(lines.join(''));
  }
});

test('24.6: two servers with one store write a stream at the same time', async () => {
  const path = join(temporaryFolder(), 'log.db');
  const servers = [
    await serveStreams(sqliteLog({ path })),
    await serveStreams(sqliteLog({ path })),
  ];
  const [first = '', second = ''] = servers.map(({ url }) => `${url}/orders`);
  const created = await Promise.all(
    [first, second].map(async (url) => (await fetch(url, { method: 'PUT', headers: json })).status),
  );
  expect(created.toSorted()).toEqual([200, 201]);
  // Both servers get every batch, so one of the two requests is a repetition.
  const post = async (url: string, seq: number) => {
    const producer = { 'producer-id': 'shop', 'producer-epoch': '0', 'producer-seq': String(seq) };
    const body = JSON.stringify({ seq });
    return (await fetch(url, { method: 'POST', headers: { ...json, ...producer }, body })).status;
  };
  for (let seq = 0; seq < 20; seq++) {
    const statuses = await Promise.all([post(first, seq), post(second, seq)]);
    expect(statuses.toSorted()).toEqual([200, 204]);
  }
  const expected = Array.from({ length: 20 }, (_, seq) => ({ seq }));
  for (const url of [first, second]) expect(await (await fetch(url)).json()).toEqual(expected);
});

test('24.6: a read postpones the expiry, and an expired stream does not exist', async () => {
  const clock = new TestClock();
  const { url } = await serveStreams(memoryLog({ clock }), clock);
  const headers = { 'content-type': 'text/plain', 'stream-ttl': '100' };
  await fetch(`${url}/short`, { method: 'PUT', headers, body: 'a' });
  clock.jump(90_000);
  expect(await (await fetch(`${url}/short`)).text()).toBe('a');
  clock.jump(90_000);
  expect((await fetch(`${url}/short`, { method: 'HEAD' })).status).toBe(200);
  clock.jump(20_000);
  expect((await fetch(`${url}/short`)).status).toBe(404);
});

/** Reads a stream to its end as events. After a cut, it continues after the last control event. */
async function readEvents(url: string): Promise<string> {
  let [offset, text] = ['-1', ''];
  for (;;) {
    let received = '';
    try {
      const { body } = await fetch(`${url}?offset=${offset}&live=sse`, {
        headers: { connection: 'close' },
      });
      const decoder = new TextDecoder();
      for await (const chunk of body ?? []) received += decoder.decode(chunk, { stream: true });
    } catch {
      // The connection was cut. The events that arrived completely count.
    }
    let data = '';
    for (const block of received.split('\n\n').slice(0, -1)) {
      const [event, ...rest] = block.split('\n');
      const content = rest.map((line) => line.slice('data:'.length)).join('\n');
      if (event === 'event: data') data = content;
      else {
        const control = JSON.parse(content) as { streamNextOffset: string; streamClosed?: true };
        [offset, text, data] = [control.streamNextOffset, text + data, ''];
        if (control.streamClosed === true) return text;
      }
    }
  }
}
