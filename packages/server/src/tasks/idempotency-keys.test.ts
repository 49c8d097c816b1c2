import { createAgent } from '@millrace/agent';
import { type LogRecord, sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { countingLog } from '../../../log/src/testing/counting-log.ts';
import type { LoopAgent, SyncAgent } from '../contract/served-agent.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import {
  collect,
  createTaskHarness,
  eventually,
  type TaskHarness,
  textDelta,
  textsOf,
  userText,
} from '../testing/servers/task-harness.ts';

/** An agent that counts its calls, and finishes its answer after it is released. */
function counting(released: Promise<void> = Promise.resolve()) {
  const calls: string[] = [];
  const agent: SyncAgent = {
    ...{ type: 'sync', name: 'agent' },
    async *onMessage(content) {
      calls.push(content.type === 'text' ? content.content : content.type);
      yield textDelta(0, `Answer ${calls.length}`);
      await released;
      yield textDelta(0, '.');
    },
  };
  return { agent, calls };
}

const looping =
  (script: readonly string[]) =>
  (log: Log): readonly LoopAgent[] => {
    const provider = scriptedProvider(script);
    return [{ type: 'loop', name: 'agent', agent: createAgent({ provider, log }) }];
  };

async function keyed(
  harness: TaskHarness,
  task_id: string | undefined,
  text: string,
  key?: string,
) {
  const agentId = await harness.idOf('agent');
  const body = { content: userText(text), ...(task_id !== undefined && { task_id }) };
  return harness.service.tasks.sendMessage(agentId, body, { key });
}

async function recordsOf({ log }: TaskHarness, id: string): Promise<readonly LogRecord[]> {
  return (await log.read(sessionId(id))).records;
}

const runsIn = (records: readonly LogRecord[]) =>
  records.filter(({ fact }) => fact?.type === 'run_started').length;

const isIdle = async ({ log }: TaskHarness, id: string) =>
  (await log.info(sessionId(id)))?.hasWork === false;

describe.each(['sync', 'loop'] as const)('a message to a %s agent', (type) => {
  const agents = () =>
    type === 'sync' ? [counting().agent] : looping(['Answer 1.', 'Answer 2.', 'Answer 3.']);

  test('that is repeated with its key returns the existing answer, complete and as a stream', async () => {
    const harness = await createTaskHarness(agents());
    const { id } = await harness.newTask('agent');
    const first = await keyed(harness, id, 'One', 'k');
    const messages = await first.messages();
    expect(textsOf(messages)).toEqual(['Answer 1.']);
    const again = await keyed(harness, id, 'One', 'k');
    expect(await again.messages()).toEqual(messages);
    expect((await collect(again.updates())).at(-1)).toEqual(
      (await collect(first.updates())).at(-1),
    );
    expect(textsOf(await (await keyed(harness, id, 'Two', 'other')).messages())).toEqual([
      'Answer 2.',
    ]);
    expect(await (await keyed(harness, id, 'One', 'k')).messages()).toEqual(messages);
    expect(runsIn(await recordsOf(harness, id))).toBe(2);
  });

  test('takes effect each time without a key', async () => {
    const harness = await createTaskHarness(agents());
    const { id } = await harness.newTask('agent');
    for (const answer of ['Answer 1.', 'Answer 2.'])
      expect(textsOf(await (await keyed(harness, id, 'One')).messages())).toEqual([answer]);
  });

  test('takes effect once, also across a restart', async () => {
    const [log, rows] = [memoryLog(), memoryRows()];
    const first = await createTaskHarness(agents(), { log, rows });
    const { id } = await first.newTask('agent');
    const messages = await (await keyed(first, id, 'One', 'k')).messages();
    await first.service.close();
    const second = await createTaskHarness(agents(), { log, rows });
    expect(await (await keyed(second, id, 'One', 'k')).messages()).toEqual(messages);
    expect(runsIn(await recordsOf(second, id))).toBe(1);
    await second.service.close();
  });

  test('takes effect once for concurrent requests, and creates only one task', async () => {
    const harness = await createTaskHarness(agents());
    const sent = await Promise.all([1, 2, 3].map(() => keyed(harness, undefined, 'One', 'k')));
    const [id = '', ...others] = new Set(sent.map(({ taskId }) => taskId));
    expect(others).toEqual([]);
    for (const answer of sent) expect(textsOf(await answer.messages())).toEqual(['Answer 1.']);
    expect((await keyed(harness, undefined, 'One', 'k')).taskId).toBe(id);
    expect((await keyed(harness, undefined, 'One', 'other')).taskId).not.toBe(id);
    await eventually(() => isIdle(harness, id));
    expect(runsIn(await recordsOf(harness, id))).toBe(1);
  });

  test.each(['interrupt', 'cancel'] as const)(
    'that is repeated after an %s returns its answer and resumes nothing',
    async (change) => {
      const harness = await createTaskHarness(agents());
      const { id } = await harness.newTask('agent');
      const messages = await (await keyed(harness, id, 'One', 'k')).messages();
      await eventually(() => isIdle(harness, id));
      const { status } = await harness.service.tasks.change(id, change);
      expect(await (await keyed(harness, id, 'One', 'k')).messages()).toEqual(messages);
      expect((await harness.task(id)).status).toBe(status);
    },
  );
});

test('a message that is repeated during its answer is streamed as it grows', async () => {
  const gate = Promise.withResolvers<void>();
  const { agent, calls } = counting(gate.promise);
  const harness = await createTaskHarness([agent]);
  const { id } = await harness.newTask('agent');
  const first = await keyed(harness, id, 'One', 'k');
  const again = await keyed(harness, id, 'One', 'k');
  const streamed = again.updates()[Symbol.asyncIterator]();
  expect((await streamed.next()).done).toBe(false);
  gate.resolve();
  expect(await again.messages()).toEqual(await first.messages());
  await streamed.return?.();
  expect(calls).toEqual(['One']);
});

test('a key creates one task, with or without a name, even after it was deleted', async () => {
  const harness = await createTaskHarness([counting().agent]);
  const agentId = await harness.idOf('agent');
  const create = (body: object, key?: string) =>
    harness.service.tasks.create(agentId, body, { key });
  const created = await Promise.all([1, 2, 3].map(() => create({ params: { a: 1 } }, 'k')));
  expect(new Set(created.map(({ id }) => id)).size).toBe(1);
  const [{ id = '' } = {}] = created;
  await harness.service.tasks.update(id, { merge_params: { a: 2 } });
  expect(await create({ params: { a: 1 } }, 'k')).toMatchObject({ id, params: { a: 2 } });
  expect((await create({}, 'other')).id).not.toBe(id);
  expect((await create({})).id).not.toBe(id);
  const named = await create({ name: 'refund' }, 'n');
  expect((await create({ name: 'refund' }, 'n')).id).toBe(named.id);
  expect((await create({ name: 'refund' }, 'm')).id).toBe(named.id);
  await harness.service.tasks.delete(id);
  await expect(create({}, 'k')).rejects.toMatchObject({ code: 'not_found' });
  const sessions = (await harness.log.list()).map(({ session }) => session as string);
  expect(sessions.filter((session) => session === named.id)).toHaveLength(1);
  expect(await isIdle(harness, named.id)).toBe(true);
});

test('21.F law 18: the answer to a repeated message is found as cheaply in a long session', async () => {
  const { log, take } = countingLog(memoryLog());
  const texts = Array.from({ length: 150 }, (_, index) => `Answer ${index}`);
  const harness = await createTaskHarness(looping(texts), { log, watchMs: 1e9 });
  const { id } = await harness.newTask('agent');
  const say = async (text: string, key?: string) =>
    textsOf(await (await keyed(harness, id, text, key)).messages());
  const costOfRepeat = async (key: string) => {
    const first = await say('Hi', key);
    await eventually(() => isIdle(harness, id));
    take();
    expect(await say('Hi', key)).toEqual(first);
    return take();
  };
  for (let message = 0; message < 20; message++) await say('Hello');
  const short = await costOfRepeat('a');
  for (let message = 0; message < 100; message++) await say('Hello');
  const long = await costOfRepeat('b');
  expect(long.records).toBeLessThanOrEqual(1.25 * short.records + 50);
});
