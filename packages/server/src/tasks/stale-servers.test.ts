import { createAgent, defineTool } from '@millrace/agent';
import { type Part, sessionId, toolCallId } from '@millrace/core';
import { type Log, LogError, memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { withAppends, withMethods } from '../../../agent/src/testing/test-doubles.ts';
import type { Rows } from '../contract/rows.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import {
  agentText,
  createTaskHarness,
  eventually,
  type TaskHarness,
  textsOf,
  userText,
} from '../testing/servers/task-harness.ts';

/**
 * Creates two servers with the same stores. The agent of `stale` keeps its run in a tool until `wake` is
 * called.
 */
async function twoServers() {
  const [log, rows] = [memoryLog(), memoryRows()];
  const [held, started] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  let isFirst = true;
  const hold = defineTool({
    ...{ name: 'hold', description: 'Holds', input: z.object({}), afterCrash: 'repeat' },
    execute: async () => {
      if (!isFirst) return 'Done at once';
      isFirst = false;
      started.resolve();
      return held.promise;
    },
  });
  const call = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'hold', arguments: '{}' };
  const agents = (ofLog: Log): readonly ServedAgent[] => {
    const script = [{ content: { parts: [call as Part] } }, 'Finished', 'Finished again'];
    const agent = createAgent({ provider: scriptedProvider(script), tools: [hold], log: ofLog });
    return [{ type: 'loop', name: 'looper', agent }];
  };
  const options = { log, rows, watchMs: 5, leaseWaitMs: 5 };
  const stale = await createTaskHarness(agents, { ...options, watchMs: 1e9 });
  const { id } = await stale.newTask('looper');
  await stale.service.tasks.sendEvent(await stale.idOf('looper'), {
    ...{ task_id: id, content: userText('Go') },
  });
  await started.promise;
  const next = await createTaskHarness(agents, options);
  /** The lease of the stale server expires, and the other server takes over. */
  const expire = async () => (await log.open(sessionId(id), { takeOver: true })).release();
  const texts = async () => textsOf(await next.messages(id));
  return { log, rows, id, stale, next, expire, texts, wake: () => held.resolve('Let go') };
}

/** Waits until the server has nothing more to write. */
const settled = ({ service }: TaskHarness) => service.close();

/** Creates rows whose puts wait until `release` is called, like the puts of a suspended server. */
function suspendedRows(rows: Rows) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held: Rows = {
    get: (...which) => rows.get(...which),
    list: (...which) => rows.list(...which),
    claim: (...which) => rows.claim(...which),
    delete: (...which) => rows.delete(...which),
    close: () => rows.close(),
    async put(table, row, options) {
      if (table === 'tasks' && row.keys['status'] === 'FAILED') {
        reached.resolve();
        await released.promise;
      }
      return rows.put(table, row, options);
    },
  };
  return { held, reached: reached.promise, release: () => released.resolve() };
}

const failing = {
  content: { parts: ['Nothing'] },
  fault: { type: 'error', after: 0, error: 'auth' },
} as const;

/** An agent loop that fails at its first request and answers the next one. */
const failsOnce = (provider: Provider) => (log: Log) =>
  [{ type: 'loop', name: 'looper', agent: createAgent({ provider, log }) }] as const;

describe('21.A: a server whose run was taken over', () => {
  test('21.A: does not change the row of the task when it wakes up', async () => {
    const { log, id, stale, next, expire, texts, wake } = await twoServers();
    await expire();
    await eventually(async () => (await texts()).includes('Finished'));
    await eventually(async () => (await log.info(sessionId(id)))?.hasWork === false);
    wake();
    await settled(stale);
    expect(await next.task(id)).toMatchObject({ status: 'RUNNING', status_reason: 'Task created' });
  });

  test('21.A: does not change it either while the next server still runs', async () => {
    const { log, id, stale, next, expire, wake } = await twoServers();
    const other = await log.open(sessionId(id), { takeOver: true, holder: 'the next server' });
    wake();
    await settled(stale);
    expect(await next.task(id)).toMatchObject({ status: 'RUNNING', status_reason: 'Task created' });
    await other.release();
    await expire();
  });

  test('21.A: keeps the waiting request, which gets the answer of the next server', async () => {
    const { id, stale, expire, texts, wake, log } = await twoServers();
    const answer = await stale.send('looper', id, 'And then?');
    await expire();
    wake();
    await eventually(async () => (await log.info(sessionId(id)))?.hasWork === false);
    expect(textsOf(await answer.messages())).toEqual(['Finished again']);
    expect(await texts()).toContain('Finished');
  });
});

test('21.A: a server that is suspended before it stores a failure does not store it later', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  const { held, reached, release } = suspendedRows(rows);
  const provider = scriptedProvider([failing, 'Better']);
  const options = { log, watchMs: 1e9 };
  const stale = await createTaskHarness(failsOnce(provider), { ...options, rows: held });
  const next = await createTaskHarness(failsOnce(provider), { ...options, rows });
  const { id } = await stale.newTask('looper');
  (await stale.send('looper', id, 'Go')).messages().catch(() => {});
  await reached;
  expect(textsOf(await (await next.send('looper', id, 'Again')).messages())).toEqual(['Better']);
  release();
  await settled(stale);
  expect((await next.task(id)).status).toBe('RUNNING');
});

describe('21.A: a server whose run could not take the lease', () => {
  /** Creates a log whose sessions cannot be opened while `isBroken` is set. */
  function breakableLog(log: Log) {
    const state = { isBroken: false };
    const open: Log['open'] = async (...which) => {
      if (state.isBroken) throw new LogError('storage', 'The disk fails');
      return log.open(...which);
    };
    return { state, log: withMethods(log, { open }) };
  }

  async function brokenAndHealthy() {
    const [healthyLog, rows] = [memoryLog(), memoryRows()];
    const { state, log } = breakableLog(healthyLog);
    const { held, reached, release } = suspendedRows(rows);
    const provider = scriptedProvider(['Answered', 'Answered again']);
    const broken = await createTaskHarness(failsOnce(provider), { log, rows: held, watchMs: 1e9 });
    const { id } = await broken.newTask('looper');
    state.isBroken = true;
    (await broken.send('looper', id, 'Go')).messages().catch(() => {});
    await reached;
    const next = () =>
      createTaskHarness(failsOnce(provider), { log: healthyLog, rows, watchMs: 5 });
    const isIdle = async () => (await healthyLog.info(sessionId(id)))?.hasWork === false;
    return { id, rows, state, next, release, broken, isIdle };
  }

  test('21.A: does not store its failure after another server has run the task', async () => {
    const { id, next, release, broken, isIdle } = await brokenAndHealthy();
    const healthy = await next();
    await eventually(isIdle);
    release();
    await settled(broken);
    expect(textsOf(await healthy.messages(id))).toContain('Answered');
    expect((await healthy.task(id)).status).toBe('RUNNING');
  });

  test('21.A: leaves the message to the next server, although the task has failed', async () => {
    const { id, rows, next, release, broken, isIdle } = await brokenAndHealthy();
    release();
    await eventually(async () => (await rows.get('tasks', id))?.keys['status'] === 'FAILED');
    await settled(broken);
    const healthy = await next();
    await eventually(isIdle);
    expect(textsOf(await healthy.messages(id))).toContain('Answered');
    expect((await healthy.task(id)).status).toBe('RUNNING');
  });

  test('21.A: has its failure replaced by the next run of the task', async () => {
    const { id, rows, state, release, broken, isIdle } = await brokenAndHealthy();
    const status = async () => (await rows.get('tasks', id))?.keys['status'];
    release();
    await eventually(async () => (await status()) === 'FAILED');
    state.isBroken = false;
    await eventually(isIdle);
    await settled(broken);
    expect(textsOf(await broken.messages(id))).toContain('Answered');
    expect(await status()).toBe('RUNNING');
  });
});

test('21.A: a log that was replaced by an older copy can change the row of its tasks', async () => {
  const rows = memoryRows();
  const agents = failsOnce(scriptedProvider([failing]));
  const before = await createTaskHarness(agents, { rows, watchMs: 1e9 });
  const { id } = await before.newTask('looper');
  await rows.claim('tasks', id, 1_000_000);
  const answer = await before.send('looper', id, 'Go');
  await expect(answer.messages()).rejects.toThrow();
  await settled(before);
  expect(await rows.get('tasks', id)).toMatchObject({
    ...{ keys: { status: 'FAILED' }, epoch: expect.toSatisfy((epoch) => epoch < 1_000_000) },
  });
});

test('21.A: a run on such a copy that has ended before it claims the row changes it too', async () => {
  const [log, stored] = [memoryLog(), memoryRows()];
  const isOver = async (id: string) => {
    const { lease, hasWork } = (await log.info(sessionId(id))) ?? {};
    return lease === undefined && hasWork === false;
  };
  // The database is slow: it answers only after the run has released its lease.
  const claim: Rows['claim'] = async (table, id, epoch, options) => {
    if (epoch < 1_000_000) await eventually(() => isOver(id));
    return stored.claim(table, id, epoch, options);
  };
  const rows = withMethods(stored, { claim });
  const server = await createTaskHarness(failsOnce(scriptedProvider([failing])), {
    ...{ log, rows, watchMs: 1e9 },
  });
  const { id } = await server.newTask('looper');
  await rows.claim('tasks', id, 1_000_000);
  const answer = await server.send('looper', id, 'Go');
  await expect(answer.messages()).rejects.toThrow();
  await settled(server);
  expect((await server.task(id)).status).toBe('FAILED');
});

test('21.A: a sync agent whose answer was taken over does not change the row', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  const held = Promise.withResolvers<void>();
  let isFirst = true;
  const agent: ServedAgent = {
    ...{ type: 'sync', name: 'agent' },
    async onMessage() {
      const holds = isFirst;
      isFirst = false;
      if (holds) await held.promise;
      return agentText('Here');
    },
  };
  const options = { log, rows, watchMs: 1e9, leaseWaitMs: 5 };
  const [stale, next] = [
    await createTaskHarness([agent], options),
    await createTaskHarness([agent], options),
  ];
  const { id } = await stale.newTask('agent');
  const lost = (await stale.send('agent', id, 'Go')).messages();
  lost.catch(() => {});
  await (await log.open(sessionId(id), { takeOver: true })).release();
  expect(textsOf(await (await next.send('agent', id, 'Hi')).messages())).toEqual(['Here']);
  expect((await next.task(id)).status).toBe('RUNNING');
  held.resolve();
  await expect(lost).rejects.toMatchObject({ details: { reason: 'interrupted' } });
  await settled(stale);
  expect((await next.task(id)).status).toBe('RUNNING');
});

describe('21.A: a run whose end could not be stored, because the storage failed', () => {
  /** Creates a log whose appends can be made to fail. One of its sessions cannot be opened. */
  function failingLog() {
    const broken = { appends: false, session: '' };
    const fail = async (): Promise<never> => {
      throw new LogError('storage', 'Cannot reach the database');
    };
    const stored = memoryLog();
    const open: Log['open'] = (...which) =>
      which[0] === broken.session ? fail() : stored.open(...which);
    const log = withAppends(withMethods(stored, { open }), (append) =>
      broken.appends ? fail() : append(),
    );
    return { log, broken };
  }

  /** Creates a server whose run is inside a tool, and a second server that scans for orphaned tasks. */
  async function runInTool() {
    const { log, broken } = failingLog();
    const rows = memoryRows();
    const [held, started] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
    const hold = defineTool({
      ...{ name: 'hold', description: 'Holds', input: z.object({}), afterCrash: 'repeat' },
      execute: async () => {
        started.resolve();
        return held.promise;
      },
    });
    const call = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'hold', arguments: '{}' };
    const script = [{ content: { parts: [call as Part] } }, 'Finished'];
    const provider = scriptedProvider(script);
    const agents = (ofLog: Log): readonly ServedAgent[] => [
      { type: 'loop', name: 'looper', agent: createAgent({ provider, tools: [hold], log: ofLog }) },
    ];
    const server = await createTaskHarness(agents, { log, rows, watchMs: 1e9 });
    const { id } = await server.newTask('looper');
    (await server.send('looper', id, 'Go')).messages().catch(() => {});
    await started.promise;
    const scanning = () => createTaskHarness(agents, { log, rows, watchMs: 5, leaseWaitMs: 5 });
    const isIdle = async () => (await log.info(sessionId(id)))?.hasWork === false;
    return { id, rows, broken, server, scanning, isIdle, letGo: () => held.resolve('Let go') };
  }

  test('21.A: is continued, and its task has not failed', async () => {
    const { id, broken, server, scanning, isIdle, letGo } = await runInTool();
    broken.appends = true;
    letGo();
    await settled(server);
    expect((await server.task(id)).status).toBe('RUNNING');
    broken.appends = false;
    const next = await scanning();
    await eventually(isIdle);
    expect(textsOf(await next.messages(id))).toContain('Finished');
    await settled(next);
  });

  test('21.A: is continued although a server that could not open it stored a failure', async () => {
    const { id, rows, broken, server, scanning, isIdle, letGo } = await runInTool();
    broken.appends = true;
    letGo();
    await settled(server);
    broken.session = id;
    const next = await scanning();
    await eventually(async () => (await rows.get('tasks', id))?.keys['status'] === 'FAILED');
    broken.session = '';
    broken.appends = false;
    await eventually(isIdle);
    expect(textsOf(await next.messages(id))).toContain('Finished');
    expect((await next.task(id)).status).toBe('RUNNING');
    await settled(next);
  });
});
