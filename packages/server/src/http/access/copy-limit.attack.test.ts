import { type Log, memoryLog, systemClock } from '@millrace/log';
import { expect, test } from 'vitest';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { testToken } from '../../testing/servers/test-server.ts';

// A client that can create tasks copies long sessions with small requests.

const root = testToken('root');
const hourMs = 3_600_000;

interface ServedOptions {
  readonly copiedBytesPerHour: number;
  /** Milliseconds that the clock of the server is ahead. */
  readonly ahead?: { ms: number };
}

/** Serves a task with a long answer, and returns a token for its agent. */
async function serveLongTask({ copiedBytesPerHour, ahead = { ms: 0 } }: ServedOptions) {
  const log = memoryLog();
  const clock = { ...systemClock, now: () => Date.now() + ahead.ms };
  const limits = { copiedBytesPerHour, closeTimeoutMs: 200 };
  const script = ['words '.repeat(50_000), ...Array.from({ length: 9 }, () => 'Fine.')];
  const { clientWith, url } = await serveOpenAi(script, {
    ...{ log, pieces: 'whole', server: { tokens: [root], limits, clock } },
  });
  const send = (
    method: string,
    token: string,
    path: string,
    body?: object | string,
    headers: Record<string, string> = {},
  ) =>
    fetch(`${url}${path}`, {
      ...{ method, body: typeof body === 'object' ? JSON.stringify(body) : (body ?? null) },
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...headers,
      },
    });
  const ask = (token: string, input: string, previous_response_id: string | null) =>
    clientWith(token).responses.create({ model: 'helper', input, previous_response_id });
  const first = await ask(root, 'First', null);
  await ask(root, 'Second', first.id);
  const task = first.conversation?.id ?? '';
  const agents = await send('GET', root, '/agents');
  const [agent] = (await agents.json()) as readonly { readonly id: string }[];
  const made = await send('POST', root, '/tokens', { agent_id: agent?.id });
  const { token } = (await made.json()) as { readonly token: string };
  const streams = `/streams/agents/${agent?.id}`;
  /** Creates a fork of the stream `source` of the agent. */
  const forkStream = (name: string) =>
    send('PUT', token, `${streams}/${name}`, undefined, {
      ...{ 'content-type': 'text/plain', 'stream-forked-from': `${streams}/source` },
    });
  const source = await send('PUT', token, `${streams}/source`, 'x'.repeat(200_000), {
    'content-type': 'text/plain',
  });
  expect(source.status).toBe(201);
  return { log, send, ask, token, task, first, streams, forkStream };
}

/** Counts the reads of records and the forks of a log. */
function countCalls(log: Log) {
  const calls = { reads: 0, forks: 0 };
  const { read, fork } = log;
  log.read = (...args) => {
    calls.reads++;
    return read.apply(log, args);
  };
  log.fork = (...args) => {
    calls.forks++;
    return fork.apply(log, args);
  };
  return calls;
}

async function errorOf(reply: Response): Promise<string> {
  return JSON.stringify(await reply.json());
}

test('18.453: attack: a caller copies at every endpoint until its hour is used up', async () => {
  const ahead = { ms: 0 };
  const served = await serveLongTask({ copiedBytesPerHour: 400_000, ahead });
  const { log, send, ask, token, task, first, streams, forkStream } = served;
  expect((await send('POST', token, `/tasks/${task}/fork`, {})).status).toBe(201);
  // About 100,000 bytes are left. The stream has more, so its copy ends, and nothing of it is stored.
  expect((await forkStream('copy')).status).toBe(429);
  expect((await send('HEAD', token, `${streams}/copy`)).status).toBe(404);

  const calls = countCalls(log);
  const refused = [
    await send('POST', token, `/tasks/${task}/fork`, {}),
    await send('POST', token, `/tasks/${task}/branch`, { at: 1 }),
    await forkStream('copy'),
  ];
  expect(refused.map(({ status }) => status)).toEqual([429, 429, 429]);
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(60);
  expect(refused[0] && (await errorOf(refused[0]))).toContain('limits.copiedBytesPerHour');
  // The server refuses these requests before it reads records.
  expect(calls).toEqual({ reads: 0, forks: 0 });
  await expect(ask(token, 'Third', first.id)).rejects.toMatchObject({ status: 429 });
  expect(calls.forks).toBe(0);
  // An operator has no limit.
  expect((await send('POST', root, `/tasks/${task}/fork`, {})).status).toBe(201);

  ahead.ms = hourMs;
  expect((await forkStream('copy')).status).toBe(201);
  // A repeated request copies nothing, so it has no limit.
  expect((await forkStream('copy')).status).toBe(200);
});

test('18.454: attack: a caller copies a task that is larger than its limit', async () => {
  const { log, send, ask, token, task, first } = await serveLongTask({
    copiedBytesPerHour: 100_000,
  });
  const before = (await log.list()).length;
  const reply = await send('POST', token, `/tasks/${task}/fork`, {});
  expect(reply.status).toBe(413);
  expect(await errorOf(reply)).toContain('limits.copiedBytesPerHour');
  expect((await log.list()).length).toBe(before);
  const refused = await ask(token, 'Third', first.id).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 429 });
  expect((await log.list()).length).toBe(before);
});

test('18.455: attack: a caller forks tasks and streams at the same time', async () => {
  const served = await serveLongTask({ copiedBytesPerHour: 2 ** 28 });
  const { log, send, ask, token, task, first, forkStream } = served;
  // The copies wait until the test releases them.
  const released = Promise.withResolvers<void>();
  const fork = log.fork.bind(log);
  let forks = 0;
  log.fork = async (...args) => {
    forks++;
    await released.promise;
    return fork(...args);
  };
  const held = forkStream('one');
  await expect.poll(() => forks).toBe(1);
  const refused = await Promise.all([
    forkStream('two'),
    send('POST', token, `/tasks/${task}/fork`, {}),
    send('POST', token, `/tasks/${task}/branch`, { at: 1 }),
  ]);
  expect(refused.map(({ status }) => status)).toEqual([429, 429, 429]);
  expect(refused[0]?.headers.get('retry-after')).toBe('1');
  await expect(ask(token, 'Third', first.id)).rejects.toMatchObject({ status: 429 });
  expect(forks).toBe(1);
  released.resolve();
  expect((await held).status).toBe(201);
  expect((await forkStream('two')).status).toBe(201);
});
