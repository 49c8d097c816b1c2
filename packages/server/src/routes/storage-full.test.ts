import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { type Log, systemClock } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { createProvider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Rows, RowsError } from '../contract/rows.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import { createServer } from '../create-server.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import { createTaskHarness, temporaryFolder, userText } from '../testing/servers/task-harness.ts';

const ballast = sessionId('ballast');
const answer = 'A long answer. '.repeat(10_000);
const note = (reason: string) => [
  { turn: 0, attempt: 0, fact: { type: 'aborted', reason } } as const,
];

/** Creates a log with little free space. A large record fills the rest. */
async function nearlyFullLog(): Promise<Log> {
  const log = sqliteLog({ path: join(temporaryFolder(), 'log.db'), maxBytes: 800_000 });
  const driver = await log.open(ballast);
  for (let n = 0; n < 10; n++) await driver.append(note('x'.repeat(64 * 1024)));
  await driver.release();
  return log;
}

/** Fills the remaining space, so that not even a message fits. */
async function fill(log: Log): Promise<void> {
  for (let size = 2 ** 17; size > 8; size /= 2) {
    for (let isFull = false; !isFull; ) {
      const driver = await log.open(ballast, { takeOver: true });
      isFull = await driver.append(note('x'.repeat(size))).then(
        () => false,
        () => true,
      );
      await driver.release().catch(() => {});
    }
  }
}

/** Any message gets the same long answer. */
const provider = createProvider('long', 'long', (request, context) =>
  scriptedProvider([answer], { pieces: 'whole' }).stream(request, context),
);

/** The body of a JSON-RPC response, or of an error. */
interface Answered {
  readonly result: { readonly id: string };
  readonly error: { readonly code: string | number; readonly message: string } | null;
  readonly message: string;
}

const kinds: Readonly<Record<string, (log: Log) => ServedAgent>> = {
  loop: (log) => ({
    ...{ type: 'loop', name: 'agent' },
    agent: createAgent({ provider, log, onInterrupted: 'retry' }),
  }),
  sync: () => ({
    ...{ type: 'sync', name: 'agent' },
    onMessage: async () => ({ type: 'text', author: 'agent', content: answer }),
  }),
};

async function serve(kind: (log: Log) => ServedAgent) {
  const log = await nearlyFullLog();
  const lines: string[] = [];
  let skippedMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + skippedMs };
  const server = createServer({
    ...{ tokens: 'none', log, clock, agents: [kind(log)] },
    onDiagnostic: (line) => lines.push(line),
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, init);
    return { status: response.status, json: (await response.json()) as Answered };
  };
  const rpc = async (method: string, params: object) =>
    (await post('/agents/name/agent/rpc', { jsonrpc: '2.0', id: 1, method, params })).json;
  const get = async (path: string) => {
    const response = await fetch(`${url}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const later = () => {
    skippedMs += 5000;
  };
  return { log, lines, post, rpc, get, later };
}

describe('21.H: a server whose storage is full', () => {
  test.for(Object.entries(kinds))(
    '21.H: says so, and continues when there is room (%s)',
    async ([name, kind]) => {
      const { log, lines, rpc, get, later, post } = await serve(kind);
      const { result: task } = await rpc('task/create', { name: 'work' });
      expect((await get('/readyz')).status).toBe(200);
      const send = () => rpc('message/send', { task_id: task.id, content: userText('Go') });
      if (name === 'sync') await fill(log);
      const refused = await send();
      expect(refused.error?.message).toMatch(/storage of (its log|the server) is full/);
      expect(JSON.stringify(refused)).not.toContain('log.db');
      if (name === 'loop') expect(refused.error?.message).toMatch(/up to offset \d+ are stored/);

      await fill(log);
      const notReady = await get('/readyz');
      expect(notReady.status).toBe(503);
      expect(notReady.text).toContain('its storage is full');
      expect((await get('/healthz')).status).toBe(200);
      expect(lines.filter((line) => line.includes('not ready: its storage is full'))).toHaveLength(
        1,
      );

      if (name === 'loop') {
        const { through } = (await log.info(sessionId(task.id))) ?? {};
        const command = { type: 'message', content: userText('More '.repeat(5000)) };
        const full = await post(`/tasks/${task.id}/commands`, command);
        expect([full.status, full.json.error?.code]).toEqual([507, 'storage_full']);
        expect(full.json.message).toContain('Nothing of this write was stored');
        expect((await log.info(sessionId(task.id)))?.through).toBe(through);
      }

      await log.delete(ballast);
      later();
      expect((await get('/readyz')).status).toBe(200);
      expect(lines.at(-1)).toContain('accepts writes again');
      const answered = await send();
      expect(answered.error).toBeNull();
      expect(JSON.stringify(answered.result)).toContain(answer.slice(0, 1000));
      expect((await log.list({ isWaiting: true })).length).toBe(0);
      expect((await log.list()).map(({ session }) => session)).toEqual([task.id]);
    },
  );
});

test('21.H: a command that is stored while the rows are full says so', async () => {
  const rows = memoryRows();
  const state = { isFull: false };
  const full: Rows = {
    get: (...which) => rows.get(...which),
    list: (...which) => rows.list(...which),
    claim: (...which) => rows.claim(...which),
    delete: (...which) => rows.delete(...which),
    close: () => rows.close(),
    put: async (...what) => {
      if (state.isFull)
        throw new RowsError('storage_full', 'Cannot use the rows: the disk is full');
      return rows.put(...what);
    },
  };
  const agents = (log: Log): readonly ServedAgent[] => [
    { type: 'loop', name: 'agent', agent: createAgent({ provider, log }) },
  ];
  const { service, newTask, log } = await createTaskHarness(agents, { rows: full, watchMs: 1e9 });
  const { id } = await newTask('agent');
  await service.tasks.change(id, 'complete');
  state.isFull = true;
  const command = { type: 'message', content: userText('Go') } as const;
  const submitted = service.tasks.submit(id, command, { key: 'k' });
  await expect(submitted).rejects.toMatchObject({
    ...{ code: 'storage_full', details: { stored: 'command', offset: 1 } },
    message: expect.stringContaining('The command is stored at offset 1'),
  });
  state.isFull = false;
  expect(await service.tasks.submit(id, command, { key: 'k' })).toMatchObject({ is_repeat: true });
  await log.follow(sessionId(id), { until: 'idle' })[Symbol.asyncIterator]().next();
});
