import { type Log, memoryLog } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../create-server.ts';
import { asUser, userOfCookie } from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';
import { letServerWork, maxUnread, watchReplies } from '../../testing/servers/watched-server.ts';

// Many readers wait at the end of a stream, and then one append wakes all of them.

const headers = { cookie: asUser('alice'), 'content-type': 'text/plain' };
const path = '/streams/users/alice/notes';
const lines = '\n'.repeat(2 ** 20);

/** Returns a log that reports the calls of `read` and `follow`. */
function reportReads(log: Log, onRead: () => void, onFollow = () => {}): Log {
  return new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (name === 'read') onRead();
        if (name === 'follow') onFollow();
        return Reflect.apply(value, target, args);
      };
    },
  });
}

/** Serves a stream of the user alice. */
async function serveStream(log: Log = memoryLog()) {
  const server = createServer({
    ...{ agents: [], authorize: userOfCookie, tokens: [testToken('operator')], log },
    // A slow machine must not disconnect the readers of the test.
    streamLimits: { stallTimeoutMs: 3_600_000 },
  });
  onTestFinished(() => server.close());
  const watched = await watchReplies(server);
  const { url } = watched;
  const send = async (method: string, body: string) => {
    const { status } = await fetch(url + path, { method, headers, body });
    expect(status).toBeLessThan(300);
  };
  await send('PUT', '');
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  /** Opens a reader at the end of the stream. It resolves when the reader waits for data. */
  const openReader = async (query: string) => {
    const { body } = await fetch(`${url + path}?${query}`, { headers, signal: leave.signal });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const readUntil = async (end: string) => {
      while (!text.includes(end)) {
        const { done, value } = (await reader?.read()) ?? { done: true };
        if (done) break;
        text += value ?? '';
      }
      return text;
    };
    await readUntil('"upToDate":true');
    text = '';
    return readUntil;
  };
  return { ...watched, append: (body: string) => send('POST', body), openReader };
}

test('18.485: attack: one append makes the server read and encode a page for each of many readers', async () => {
  let reads = 0;
  const log = reportReads(memoryLog(), () => {
    reads++;
  });
  const { append, openReader, takeMostWrites } = await serveStream(log);
  const readers = [];
  for (let open = 0; open < 40; open++) readers.push(await openReader('offset=now&live=sse'));
  reads = 0;
  takeMostWrites();
  await append('one\r\ntwo\rthree\n\nfour');
  const texts = await Promise.all(readers.map((readUntil) => readUntil('"upToDate":true')));
  expect(reads).toBeLessThan(10);
  // Other requests are answered between two readers.
  expect(takeMostWrites()).toBeLessThan(10);
  for (const text of texts)
    expect(text).toContain('event: data\ndata:one\ndata:two\ndata:three\ndata:\ndata:four\n\n');
});

test('18.485: attack: many long polls get a page of their own', async () => {
  let [reads, waiting] = [0, 0];
  const log = reportReads(
    memoryLog(),
    () => reads++,
    () => waiting++,
  );
  const { url, append, takeMostWrites } = await serveStream(log);
  const polls = Array.from({ length: 40 }, () =>
    fetch(`${url + path}?offset=now&live=long-poll`, { headers }),
  );
  // Each poll reads the end of the stream, and then waits for a record.
  await expect.poll(() => waiting, { timeout: 60_000 }).toBe(polls.length);
  await letServerWork(url);
  reads = 0;
  takeMostWrites();
  await append('news');
  const texts = await Promise.all(polls.map(async (poll) => (await poll).text()));
  expect(new Set(texts)).toEqual(new Set(['news']));
  expect(reads).toBeLessThan(10);
  expect(takeMostWrites()).toBeLessThan(10);
});

test('18.486: attack: readers that do not read fill the memory with the data of one append', async () => {
  const { url, append, openReader, mostUnread, neverRead } = await serveStream();
  const sockets = Array.from({ length: 20 }, (_, index) => {
    // With a cursor of the future, each reader gets a cursor of its own, and thereby other bytes.
    const query = `offset=now&live=sse&cursor=${900_000_000 + index}`;
    return neverRead({ method: 'GET', path: `${path}?${query}`, headers });
  });
  await letServerWork(url);
  await append(lines);
  const readAgain = async () => (await fetch(`${url + path}?offset=now`, { headers })).status;
  await expect.poll(readAgain, { timeout: 240_000 }).toBe(429);
  await letServerWork(url);
  // Each line is 6 bytes of the event.
  expect(mostUnread()).toBeLessThan(maxUnread(7 * lines.length));
  for (const socket of sockets) socket.destroy();
  await expect.poll(readAgain).toBe(200);
  const readUntil = await openReader('offset=now&live=sse');
  await append('fine');
  expect(await readUntil('"upToDate":true')).toContain('data:fine');
});
