import { join } from 'node:path';
import { createAgent, defineTool } from '@millrace/agent';
import { type Part, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { ServedAgent } from '../contract/served-agent.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import {
  agentText,
  collect,
  createTaskHarness,
  eventually,
  type TaskHarness,
  type TaskHarnessOptions,
  temporaryFolder,
  textDelta,
  textsOf,
  userText,
} from '../testing/servers/task-harness.ts';

const { promise: never } = Promise.withResolvers<never>();

/** An agent that sends one word and then nothing. */
const stuck: ServedAgent = {
  ...{ type: 'sync', name: 'agent' },
  async *onMessage() {
    yield textDelta(0, 'One moment');
    await never;
  },
};
const quick: ServedAgent = {
  ...{ type: 'sync', name: 'agent' },
  onMessage: async () => agentText('Here'),
};
const silent: ServedAgent = { type: 'async', name: 'listener', onEvent: () => never };

/** Creates servers with the same stores. */
function sharing(options: TaskHarnessOptions = {}) {
  const [log, rows] = [memoryLog(), memoryRows()];
  const serve = (agents: Parameters<typeof createTaskHarness>[0]) =>
    createTaskHarness(agents, { log, rows, watchMs: 5, leaseWaitMs: 5, ...options });
  return { log, rows, serve };
}

const isIdle = async (log: Log, id: string) => (await log.info(sessionId(id)))?.hasWork === false;

describe('with two servers', () => {
  test('one server interrupts the work of the other', async () => {
    const { serve } = sharing();
    const [one, other] = [await serve([stuck]), await serve([stuck])];
    const { id } = await one.newTask('agent');
    const answer = await one.send('agent', id, 'Go');
    await eventually(async () => (await one.messages(id)).length === 2);
    expect((await other.service.tasks.change(id, 'interrupt')).status).toBe('INTERRUPTED');
    expect(textsOf(await answer.messages())).toEqual(['One moment']);
    expect((await one.task(id)).status).toBe('INTERRUPTED');
  });

  test('one server cancels a handler of the other that sends nothing', async () => {
    const { serve, log } = sharing({ leaseWaitMs: 60_000 });
    const [one, other] = [await serve([silent]), await serve([silent])];
    const { id } = await one.newTask('listener');
    const content = userText('Go');
    await one.service.tasks.sendEvent(await one.idOf('listener'), { task_id: id, content });
    await eventually(async () => (await log.info(sessionId(id)))?.lease !== undefined);
    await other.service.tasks.change(id, 'cancel');
    await eventually(() => isIdle(log, id));
    expect((await one.task(id)).status).toBe('CANCELED');
  });

  test('one server interrupts an agent loop of the other and aborts its run', async () => {
    const { serve } = sharing();
    const stalls = {
      content: { parts: ['One moment please'] },
      fault: { type: 'stall', after: 2 },
    };
    const looping = (log: Log): readonly ServedAgent[] => {
      const agent = createAgent({ provider: scriptedProvider([stalls as never]), log });
      return [{ type: 'loop', name: 'looper', agent }];
    };
    const [one, other] = [await serve(looping), await serve(looping)];
    const { id } = await one.newTask('looper');
    const answer = await one.send('looper', id, 'Go');
    await eventually(async () => (await one.messages(id)).length === 2);
    await other.service.tasks.change(id, 'interrupt');
    expect(await answer.messages()).toHaveLength(1);
  });

  test('a message after one server stopped a run of the other is answered, even if that run ends late', async () => {
    const { serve } = sharing();
    const [started, held] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const hold = defineTool({
      ...{ name: 'hold', description: 'Holds', input: z.object({}) },
      execute: () => {
        started.resolve();
        return held.promise;
      },
    });
    const call = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'hold', arguments: '{}' };
    const looping = (log: Log): readonly ServedAgent[] => {
      const script = [{ content: { parts: [call as Part] } }, 'Back again'];
      const agent = createAgent({ provider: scriptedProvider(script), tools: [hold], log });
      return [{ type: 'loop', name: 'looper', agent }];
    };
    const [one, other] = [await serve(looping), await serve(looping)];
    const { id } = await one.newTask('looper');
    await one.send('looper', id, 'Go');
    await started.promise;
    await other.service.tasks.change(id, 'interrupt');
    await other.send('looper', id, 'And now?');
    held.resolve('Let go');
    await eventually(async () => textsOf(await other.messages(id)).includes('Back again'));
    await eventually(async () => (await one.task(id)).status === 'RUNNING');
  });

  test('one server waits briefly for a task that the other has just written to', async () => {
    const { serve } = sharing({ leaseWaitMs: 60_000, idleMs: 20 });
    const [one, other] = [await serve([quick]), await serve([quick])];
    const { id } = await one.newTask('agent');
    await (await one.send('agent', id, 'Hi')).messages();
    expect(textsOf(await (await other.send('agent', id, 'Hi')).messages())).toEqual(['Here']);
  });

  test('each event is handled once, by one of them', async () => {
    const handled: string[] = [];
    const first = Promise.withResolvers<void>();
    const agent: ServedAgent = {
      ...{ type: 'async', name: 'listener' },
      async onEvent({ content }) {
        handled.push(content?.type === 'text' ? content.content : '');
        if (handled.length === 1) await first.promise;
      },
    };
    const path = join(temporaryFolder(), 'log.db');
    const [log, otherLog] = [sqliteLog({ path }), sqliteLog({ path })];
    onTestFinished(() => Promise.all([log.close(), otherLog.close()]).then(() => {}));
    const options = { rows: memoryRows(), leaseWaitMs: 60_000, idleMs: 1, watchMs: 1e9 };
    const one = await createTaskHarness([agent], { ...options, log });
    const other = await createTaskHarness([agent], { ...options, log: otherLog });
    const { id } = await one.newTask('listener');
    const agentId = await one.idOf('listener');
    const send = ({ service }: TaskHarness, text: string) =>
      service.tasks.sendEvent(agentId, { task_id: id, content: userText(text) });
    await send(one, 'first');
    await eventually(async () => handled.length === 1);
    // The second server finds the first event in the queue and waits for the process that handles it.
    const open = vi.spyOn(otherLog, 'open');
    const has = (type: string) => open.mock.settledResults.some((result) => result.type === type);
    await send(other, 'second');
    await eventually(async () => has('rejected'));
    first.resolve();
    await eventually(async () => has('fulfilled'));
    await eventually(async () => (await log.info(sessionId(id)))?.lease === undefined);
    expect(await isIdle(log, id)).toBe(true);
    expect(handled).toEqual(['first', 'second']);
  });

  test('one server refuses a message while the other answers, and leaves the task unchanged', async () => {
    const { serve } = sharing();
    const [one, other] = [await serve([stuck]), await serve([stuck])];
    const { id } = await one.newTask('agent');
    await one.send('agent', id, 'Go');
    await expect(other.send('agent', id, 'Me too')).rejects.toMatchObject({ code: 'conflict' });
    expect(textsOf(await other.messages(id))).not.toContain('Me too');
  });

  test('one server recovers the work of the other after a crash, without a restart', async () => {
    const { serve, log } = sharing();
    const [dying, living] = [await serve([stuck]), await serve([stuck])];
    const { id } = await dying.newTask('agent');
    const answer = await dying.send('agent', id, 'Go');
    await eventually(async () => (await living.messages(id)).length === 2);
    // A process that lost its lease and does no more work counts as crashed.
    await (await log.open(sessionId(id), { takeOver: true })).release();
    await eventually(() => isIdle(log, id));
    expect(await living.task(id)).toMatchObject({ status: 'FAILED' });
    await expect(answer.messages()).rejects.toMatchObject({ details: { reason: 'interrupted' } });
    expect(textsOf(await living.messages(id))).toEqual(['Go', 'One moment']);
  });

  test('one server answers a message in a task that the other left, and the task continues', async () => {
    const { serve, log } = sharing({ watchMs: 1e9 });
    const [dying, living] = [await serve([stuck]), await serve([quick])];
    const { id } = await dying.newTask('agent');
    await dying.send('agent', id, 'Go');
    await (await log.open(sessionId(id), { takeOver: true })).release();
    expect(textsOf(await (await living.send('agent', id, 'Hi')).messages())).toEqual(['Here']);
    expect((await living.task(id)).status).toBe('RUNNING');
  });
});

describe('an agent loop', () => {
  const saying = (texts: readonly string[]) => (log: Log) =>
    [
      {
        type: 'loop',
        name: 'looper',
        agent: createAgent({ provider: scriptedProvider(texts), log }),
      },
    ] as const;

  test('answers a message that follows a REST message at once', async () => {
    const harness = await createTaskHarness(saying(['Hello']), { watchMs: 1e9 });
    const { id } = await harness.newTask('looper');
    await harness.service.messages.create({ task_id: id, content: agentText('Written by hand') });
    const answer = await harness.send('looper', id, 'Hi');
    expect(textsOf(await answer.messages())).toEqual(['Hello']);
  });

  test('is not started by an abort of an idle task', async () => {
    const harness = await createTaskHarness(saying(['Hello']), { watchMs: 1e9 });
    const { id } = await harness.newTask('looper');
    await (await harness.send('looper', id, 'Hi')).messages();
    await harness.service.tasks.change(id, 'complete');
    await harness.service.tasks.submit(id, { type: 'abort' });
    await eventually(() => isIdle(harness.log, id));
    expect((await harness.task(id)).status).toBe('COMPLETED');
    expect(textsOf(await harness.messages(id))).toEqual(['Hi', 'Hello']);
  });

  test('lists its events as they were sent', async () => {
    const harness = await createTaskHarness(saying(['Hello']));
    const { id } = await harness.newTask('looper');
    const agentId = await harness.idOf('looper');
    const { service } = harness;
    const send = () =>
      service.tasks.sendEvent(agentId, { task_id: id, content: userText('Hi') }, { key: 'a key' });
    const event = await send();
    expect(await send()).toEqual(event);
    expect(await service.events.get(event.id)).toEqual(event);
    expect(await service.events.list({ taskId: id, agentId })).toEqual([event]);
    await eventually(() => isIdle(harness.log, id));
    expect(textsOf(await harness.messages(id))).toEqual(['Hi', 'Hello']);
  });
});

test('a session whose agent is not here is left alone by every scan', async () => {
  const { serve, log } = sharing({ watchMs: 1 });
  const gone = await serve([{ ...quick, name: 'gone' }]);
  const { id } = await gone.newTask('gone');
  await gone.service.close();
  await log.submit(sessionId(id), { type: 'nobody knows what' }, 'a key');
  const { through } = (await log.info(sessionId(id))) ?? {};
  const harness = await serve([quick]);
  const other = await harness.newTask('agent');
  // When a later session has been recovered, the scan has also reached this one.
  const driver = await log.open(sessionId(other.id));
  await driver.append([{ turn: 1, attempt: 0, fact: { type: 'turn_started' } }]);
  await driver.release();
  await eventually(() => isIdle(log, other.id));
  expect((await log.info(sessionId(id)))?.through).toBe(through);
});

test('a finished handler cannot write', async () => {
  let late: (() => Promise<unknown>) | undefined;
  const agent: ServedAgent = {
    ...{ type: 'sync', name: 'agent' },
    async onMessage(_content, { messages }) {
      late = () => messages.create(agentText('One more thing'));
      return agentText('That is all');
    },
  };
  const harness = await createTaskHarness([agent]);
  const { id } = await harness.newTask('agent');
  await collect((await harness.send('agent', id, 'Hi')).updates());
  await expect(late?.()).rejects.toMatchObject({ code: 'bad_state' });
  expect(textsOf(await harness.messages(id))).toEqual(['Hi', 'That is all']);
});
