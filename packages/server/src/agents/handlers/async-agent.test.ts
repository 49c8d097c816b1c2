import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import type { AsyncAgent } from '../../contract/served-agent.ts';
import type { TaskEvent } from '../../contract/task.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import {
  agentText,
  createTaskHarness,
  eventually,
  type TaskHarness,
  type TaskHarnessOptions,
  textsOf,
  userText,
} from '../../testing/servers/task-harness.ts';

const listener = (agent: Omit<AsyncAgent, 'type' | 'name'>): AsyncAgent => ({
  ...{ type: 'async', name: 'listener', ...agent },
});

function send(
  harness: TaskHarness,
  task_id: string,
  text: string,
  key?: string,
): Promise<TaskEvent> {
  const event = { task_id, content: userText(text) };
  return harness.idOf('listener').then((id) => harness.service.tasks.sendEvent(id, event, { key }));
}

const isIdle = async ({ log }: TaskHarness, id: string) =>
  (await log.info(sessionId(id)))?.hasWork === false;

const stores: readonly NonNullable<TaskHarnessOptions['store']>[] = ['memory', 'sqlite'];

describe.each(stores)('an async agent on a %s log', (store) => {
  test('answers, and gets its events in order, one at a time', async () => {
    let [atOnce, most] = [0, 0];
    const agent = listener({
      async onTaskCreate({ messages }) {
        await messages.create(agentText('Welcome'));
      },
      async onEvent({ content }, { messages }) {
        most = Math.max(most, ++atOnce);
        if (content !== null) await messages.create(content);
        await messages.create(agentText('Heard'));
        atOnce--;
      },
    });
    const harness = await createTaskHarness([agent], { store });
    const { id } = await harness.newTask('listener');
    const events = await Promise.all(['a', 'b', 'c'].map((text) => send(harness, id, text)));
    await eventually(() => isIdle(harness, id));
    const order = [...events].sort((a, b) => a.sequence_id - b.sequence_id);
    const texts = order.flatMap(({ content }) =>
      content?.type === 'text' ? [content.content, 'Heard'] : [],
    );
    expect(textsOf(await harness.messages(id))).toEqual(['Welcome', ...texts]);
    expect(most).toBe(1);
  });
});

describe('an event', () => {
  test('is found by its id and listed after a cursor', async () => {
    const harness = await createTaskHarness([listener({ onEvent: async () => {} })]);
    const { id } = await harness.newTask('listener');
    const agentId = await harness.idOf('listener');
    const first = await send(harness, id, 'a');
    const second = await send(harness, id, 'b');
    const { events } = harness.service;
    expect(await events.get(first.id)).toEqual(first);
    expect(await events.list({ taskId: id, agentId })).toEqual([first, second]);
    expect(await events.list({ taskId: id, agentId, after: first.id })).toEqual([second]);
    await expect(events.get(`${id}.999`)).rejects.toMatchObject({ code: 'not_found' });
    await expect(events.get('nobody.1')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('that is sent twice with one key is one event', async () => {
    const handled: string[] = [];
    const harness = await createTaskHarness([
      listener({
        async onEvent({ id }) {
          handled.push(id);
        },
      }),
    ]);
    const { id } = await harness.newTask('listener');
    const [one, two] = [await send(harness, id, 'a', 'k1'), await send(harness, id, 'other', 'k1')];
    expect(two).toEqual(one);
    await eventually(() => isIdle(harness, id));
    expect(handled).toEqual([one.id]);
    expect((await harness.service.trackers.get(id)).last_processed_event_id).toBe(one.id);
  });

  test('that was not handled when the server stopped is delivered again', async () => {
    const log = memoryLog();
    const rows = memoryRows();
    const handled: string[] = [];
    const stuck = listener({
      async onEvent({ id }, { messages }) {
        handled.push(id);
        await messages.create(agentText('Working'));
        if (handled.length === 1) await new Promise(() => {});
      },
    });
    const first = await createTaskHarness([stuck], { log, rows });
    const { id } = await first.newTask('listener');
    const event = await send(first, id, 'a');
    await eventually(async () => (await first.messages(id)).length === 1);
    await first.service.close();
    const second = await createTaskHarness([stuck], { log, rows });
    await eventually(() => isIdle(second, id));
    expect(handled).toEqual([event.id, event.id]);
    expect((await second.task(id)).status).toBe('RUNNING');
    await second.service.close();
    await log.close();
  });
});

describe('a handler that throws', () => {
  test('fails the task with the reason, and is not called again with the same event', async () => {
    let calls = 0;
    const harness = await createTaskHarness([
      listener({
        async onEvent(_event, { messages }) {
          await messages.create(agentText('Before'));
          if (calls++ === 0) throw new Error('No more paper');
        },
      }),
    ]);
    const { id } = await harness.newTask('listener');
    await send(harness, id, 'a');
    await eventually(async () => (await harness.task(id)).status === 'FAILED');
    expect((await harness.task(id)).status_reason).toMatch('The handler of the agent threw');
    await send(harness, id, 'b');
    await eventually(() => isIdle(harness, id));
    expect(calls).toBe(2);
    expect((await harness.task(id)).status).toBe('RUNNING');
  });

  test('in onTaskCreate fails the task too', async () => {
    const harness = await createTaskHarness([
      listener({
        onTaskCreate: () => Promise.reject(new Error('Closed on Sundays')),
        onEvent: async () => {},
      }),
    ]);
    const { id } = await harness.newTask('listener');
    await eventually(async () => (await harness.task(id)).status === 'FAILED');
    expect((await harness.task(id)).status_reason).toMatch('The handler of the agent threw');
  });
});

describe('stopping', () => {
  test('an interrupt aborts the signal, and the next event is handled', async () => {
    const reasons: unknown[] = [];
    const harness = await createTaskHarness([
      listener({
        async onEvent({ content }, { signal, messages }) {
          await messages.create(agentText('Begun'));
          if (content?.type !== 'text' || content.content !== 'slow') return;
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          reasons.push(signal.reason);
        },
      }),
    ]);
    const { id } = await harness.newTask('listener');
    await send(harness, id, 'slow');
    await eventually(async () => (await harness.messages(id)).length === 1);
    expect((await harness.service.tasks.change(id, 'interrupt', 'Stop it')).status).toBe(
      'INTERRUPTED',
    );
    expect(reasons).toMatchObject([{ name: 'AbortError', message: 'Stop it' }]);
    await send(harness, id, 'fast');
    await eventually(() => isIdle(harness, id));
    expect((await harness.messages(id)).length).toBe(2);
    expect((await harness.task(id)).status).toBe('RUNNING');
  });

  test('a cancel calls the handler and clears the queue', async () => {
    const handled: string[] = [];
    const harness = await createTaskHarness([
      listener({
        async onEvent({ content }, { messages }) {
          handled.push(content?.type === 'text' ? content.content : '');
          await messages.create(agentText('Begun'));
          await new Promise(() => {});
        },
        async onCancel({ messages }) {
          await messages.create(agentText('Cleaned up'));
        },
      }),
    ]);
    const { id } = await harness.newTask('listener');
    await send(harness, id, 'one');
    await send(harness, id, 'two');
    await eventually(async () => (await harness.messages(id)).length === 1);
    expect((await harness.service.tasks.change(id, 'cancel')).status).toBe('CANCELED');
    await eventually(() => isIdle(harness, id));
    expect(textsOf(await harness.messages(id))).toEqual(['Begun', 'Cleaned up']);
    expect(handled).toEqual(['one']);
    await expect(send(harness, id, 'three')).rejects.toMatchObject({ code: 'bad_state' });
  });

  test('refuses writes of a handler that was abandoned', async () => {
    const late = Promise.withResolvers<unknown>();
    const gate = Promise.withResolvers<void>();
    const harness = await createTaskHarness([
      listener({
        async onEvent(_event, { messages, stream }) {
          await messages.create(agentText('Begun'));
          await gate.promise;
          await stream.open(agentText('Too late')).catch((error) => late.resolve(error));
        },
      }),
    ]);
    const { id } = await harness.newTask('listener');
    await send(harness, id, 'one');
    await eventually(async () => (await harness.messages(id)).length === 1);
    await harness.service.tasks.change(id, 'interrupt');
    await eventually(() => isIdle(harness, id));
    gate.resolve();
    expect(await late.promise).toMatchObject({ code: 'bad_state' });
    expect(textsOf(await harness.messages(id))).toEqual(['Begun']);
  });
});

test('a sync agent accepts no events, and an async agent no messages', async () => {
  const harness = await createTaskHarness([
    listener({ onEvent: async () => {} }),
    { type: 'sync', name: 'speaker', onMessage: async () => agentText('Hi') },
  ]);
  const { id } = await harness.newTask('listener');
  await expect(harness.send('listener', id, 'Hi')).rejects.toThrow('Use event/send');
  const other = await harness.newTask('speaker');
  const agent = await harness.idOf('speaker');
  await expect(harness.service.tasks.sendEvent(agent, { task_id: other.id })).rejects.toThrow(
    'Use message/send',
  );
});

test('at most a thousand events are queued for a handler', async () => {
  const { promise: never } = Promise.withResolvers<void>();
  const harness = await createTaskHarness([{ type: 'async', name: 'slow', onEvent: () => never }]);
  const { id } = await harness.newTask('slow');
  const agentId = await harness.idOf('slow');
  const send = () =>
    harness.service.tasks.sendEvent(agentId, { task_id: id, content: userText('Go') });
  for (let n = 0; n < 1000; n++) await send();
  await expect(send()).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 1000 });
});
