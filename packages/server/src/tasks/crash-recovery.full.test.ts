import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sessionId, toArray } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { startProcess } from '../../../log/src/testing/start-process.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import type { TaskEvent } from '../contract/task.ts';
import { sqliteRows } from '../rows/sqlite/sqlite-rows.ts';
import {
  agentText,
  collect,
  createTaskHarness,
  eventually,
  temporaryFolder,
  textsOf,
} from '../testing/servers/task-harness.ts';

interface ProcessMessage {
  readonly type: string;
  readonly task: string;
}

/** Starts a server process, kills it after some deltas, and starts a second one. */
async function killedAfter(
  deltas: number,
  kind: 'sync' | 'async' | 'loop',
  agent: ServedAgent | ((log: Log) => ServedAgent),
) {
  const folder = temporaryFolder();
  const received: ProcessMessage[] = [];
  const program = new URL('../testing/servers/crashing-server.ts', import.meta.url);
  const child = startProcess(program, {
    args: [folder, kind],
    onMessage: (value) => {
      received.push(value as ProcessMessage);
      if (received.filter(({ type }) => type === 'delta').length === deltas) child.kill('SIGKILL');
    },
  });
  const { signal, stderr } = await child.exit;
  expect([signal, stderr]).toEqual(['SIGKILL', expect.not.stringContaining('Error')]);
  const log = sqliteLog({ path: join(folder, 'log.db') });
  const rows = sqliteRows({ path: join(folder, 'rows.db') });
  const id = received[0]?.task ?? '';
  const before = await snapshot(log, sessionId(id));
  const served = typeof agent === 'function' ? agent(log) : agent;
  const harness = await createTaskHarness([served], { log, rows });
  onTestFinished(async () => {
    await harness.service.close();
    await log.close();
    await rows.close();
  });
  return { ...harness, id, received, before };
}

async function* untilThrown<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source;
  } catch {
    // Only the messages before the kill matter.
  }
}

test.each([1, 5, 40])(
  'a sync answer whose process was killed after %i deltas keeps everything that was streamed, and fails as interrupted',
  async (deltas) => {
    const onMessage = async () => agentText('Back');
    const agent = { type: 'sync', name: 'dying', onMessage } as const;
    const harness = await killedAfter(deltas, 'sync', agent);
    const { id, messages, task, send, log, before, service, idOf } = harness;
    const [go, first, cut] = await messages(id);
    expect(textsOf([go, first].flatMap((one) => one ?? []))).toEqual(['Go', 'First']);
    const text = before.open[0]?.text ?? '';
    expect(cut).toMatchObject({ streaming_status: 'DONE', content: { content: text } });
    expect(text).toMatch(/^(word\d+ )+$/);
    // An update has one word or more, and no streamed update is missing.
    expect(text.trim().split(' ').length).toBeGreaterThanOrEqual(deltas);
    const item = toArray((await snapshot(log, sessionId(id))).items).at(-1);
    expect(item?.stop).toEqual({ reason: 'aborted', cause: 'interrupted' });
    expect(await task(id)).toMatchObject({ status: 'FAILED' });
    expect((await task(id)).status_reason).toMatch(/^interrupted/);
    expect((await log.info(sessionId(id)))?.hasWork).toBe(false);
    const content = go?.content ?? expect.fail();
    const body = { task_id: id, content };
    const again = await service.tasks.sendMessage(await idOf('dying'), body, { key: 'key' });
    await expect(again.messages()).rejects.toMatchObject({ details: { reason: 'interrupted' } });
    expect((await collect(untilThrown(again.updates()))).at(-1)).toMatchObject({ type: 'done' });
    expect(textsOf(await (await send('dying', id, 'Again?')).messages())).toEqual(['Back']);
    expect((await task(id)).status).toBe('RUNNING');
  },
);

test('an event whose handler was killed is delivered again, and its earlier messages are kept', async () => {
  const handled: TaskEvent[] = [];
  const agent: ServedAgent = {
    ...{ type: 'async', name: 'dying' },
    async onEvent(event, { messages }) {
      handled.push(event);
      await messages.create(agentText('Done now'));
    },
  };
  const { id, messages, log, task, service, idOf } = await killedAfter(5, 'async', agent);
  await eventually(async () => (await log.info(sessionId(id)))?.hasWork === false);
  expect(handled).toHaveLength(1);
  const [event] = await service.events.list({ taskId: id, agentId: await idOf('dying') });
  expect(handled[0]).toEqual(event);
  const texts = textsOf(await messages(id));
  expect(texts.at(-1)).toBe('Done now');
  expect(texts[0]).toMatch(/^(word\d+ )*$/);
  expect((await task(id)).status).toBe('RUNNING');
});

test.each([1, 20])(
  'a run of an agent loop whose process was killed after %i deltas ends once, and the task continues',
  async (deltas) => {
    const agent = (log: Log): ServedAgent => ({
      ...{ type: 'loop', name: 'dying' },
      agent: createAgent({ provider: scriptedProvider(['Back']), log }),
    });
    const { id, messages, log, send, task, before } = await killedAfter(deltas, 'loop', agent);
    await eventually(async () => (await log.info(sessionId(id)))?.hasWork === false);
    const text = before.open[0]?.text ?? '';
    expect(textsOf(await messages(id))).toEqual(['Go', text]);
    expect(text.trim().split(' ').length).toBeGreaterThanOrEqual(deltas);
    expect(textsOf(await (await send('dying', id, 'Again?')).messages())).toEqual(['Back']);
    expect(await task(id)).toMatchObject({ status: 'RUNNING' });
  },
);
