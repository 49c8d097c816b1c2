import { createAgent, defineTool } from '@millrace/agent';
import { type Part, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
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

/** Two servers with the same stores. The agent of `stale` holds its run in a tool until `wake`. */
async function twoServers() {
  const [log, rows] = [memoryLog(), memoryRows()];
  const [held, started] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  let isFirst = true;
  const hold = defineTool({
    ...{ name: 'hold', description: 'Holds', input: z.object({}), replay: 'safe' },
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
  /** The lease of the stale server expires, and the next one takes over. */
  const expire = async () => (await log.open(sessionId(id), { takeOver: true })).release();
  const texts = async () => textsOf(await next.messages(id));
  return { log, rows, id, stale, next, expire, texts, wake: () => held.resolve('Let go') };
}

const settled = async ({ service }: TaskHarness) => {
  await service.close();
};

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
