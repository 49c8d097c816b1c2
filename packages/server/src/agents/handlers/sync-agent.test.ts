import { describe, expect, test } from 'vitest';
import type { Update, UpdateInput } from '../../contract/message.ts';
import type { SyncAgent } from '../../contract/served-agent.ts';
import {
  agentText,
  collect,
  createTaskHarness,
  eventually,
  type TaskHarnessOptions,
  textDelta,
  textsOf,
  typesOf,
} from '../../testing/servers/task-harness.ts';

const answering = (onMessage: SyncAgent['onMessage']): SyncAgent => ({
  ...{ type: 'sync', name: 'speaker', onMessage },
});
const yielding = (...updates: readonly UpdateInput[]) =>
  answering(async function* () {
    yield* updates;
  });

const stores: readonly NonNullable<TaskHarnessOptions['store']>[] = ['memory', 'sqlite'];

describe.each(stores)('a sync agent on a %s log', (store) => {
  test("is streamed and stored, including the user's message", async () => {
    const harness = await createTaskHarness([yielding(textDelta(0, 'Hel'), textDelta(0, 'lo'))], {
      store,
    });
    const { id } = await harness.newTask('speaker');
    const answer = await harness.send('speaker', id, 'Hi');
    const updates = await collect(answer.updates());
    expect(typesOf(updates)).toEqual(['start 0', 'delta 0', 'done 0']);
    expect(textsOf(await harness.messages(id))).toEqual(['Hi', 'Hello']);
    const done = updates.at(-1)?.parent_task_message;
    const { updated_at, ...streamed } = done ?? {};
    expect(await harness.service.messages.get(done?.id ?? '')).toMatchObject(streamed);
  });

  test('returns the same stored result without streaming', async () => {
    const harness = await createTaskHarness(
      [yielding(textDelta(0, 'a'), textDelta(1, 'b'), textDelta(0, 'A'))],
      { store },
    );
    const { id } = await harness.newTask('speaker');
    const answer = await harness.send('speaker', id, 'Hi');
    const messages = await answer.messages();
    expect(textsOf(messages)).toEqual(['aA', 'b']);
    expect((await harness.messages(id)).slice(1)).toEqual(messages);
  });
});

test('a message without a task creates one', async () => {
  const { service, idOf } = await createTaskHarness([yielding(textDelta(0, 'Yes'))]);
  const agent = await idOf('speaker');
  const send = (task_name: string) =>
    service.tasks.sendMessage(agent, { task_name, content: agentText('?') });
  const first = await send('one');
  const second = await send('one');
  expect(second.taskId).toBe(first.taskId);
  expect((await service.tasks.get({ name: 'one' })).id).toBe(first.taskId);
  expect((await service.tasks.sendMessage(agent, { content: agentText('?') })).taskId).not.toBe(
    first.taskId,
  );
});

test('a returned content is one message, and several contents are several', async () => {
  const harness = await createTaskHarness([
    answering(async () => [agentText('One'), { type: 'data', author: 'agent', data: { n: 2 } }]),
  ]);
  const { id } = await harness.newTask('speaker');
  const messages = await (await harness.send('speaker', id, 'Hi')).messages();
  expect(messages.map(({ content }) => content.type)).toEqual(['text', 'data']);
});

test('late updates of a closed index are dropped and counted', async () => {
  const harness = await createTaskHarness([
    yielding(
      textDelta(0, 'draft'),
      { type: 'full', index: 0, content: agentText('Final [1]') },
      textDelta(0, ' more'),
      { type: 'done', index: 0 },
    ),
  ]);
  const { id } = await harness.newTask('speaker');
  const answer = await harness.send('speaker', id, 'Hi');
  const updates = await collect(answer.updates());
  expect(typesOf(updates)).toEqual(['start 0', 'delta 0', 'full 0']);
  expect(textsOf(await answer.messages())).toEqual(['Final [1]']);
  await eventually(async () => harness.diagnostics.length > 0);
  expect(harness.diagnostics).toEqual([expect.stringContaining('2 late')]);
  expect((await harness.task(id)).status).toBe('RUNNING');
});

describe('an agent that throws', () => {
  const failing = answering(async function* () {
    yield textDelta(0, 'So far ');
    yield textDelta(0, 'so good');
    throw new Error('The well is dry');
  });

  test('fails the task with the reason and stores the partial answer', async () => {
    const harness = await createTaskHarness([failing]);
    const { id } = await harness.newTask('speaker');
    const answer = await harness.send('speaker', id, 'Hi');
    const handled: Update[] = [];
    const listening = (async () => {
      for await (const update of answer.updates()) handled.push(update);
    })();
    await expect(listening).rejects.toMatchObject({
      ...{
        code: 'agent_failed',
        message: expect.stringContaining('The handler of the agent threw'),
      },
    });
    expect(typesOf(handled)).toEqual(['start 0', 'delta 0', 'done 0']);
    await expect(answer.messages()).rejects.toThrow('The handler of the agent threw');
    expect(await harness.task(id)).toMatchObject({
      ...{
        status: 'FAILED',
        status_reason: expect.stringContaining('The handler of the agent threw'),
      },
    });
    expect(textsOf(await harness.messages(id))).toEqual(['Hi', 'So far so good']);
  });

  test('can answer again', async () => {
    const harness = await createTaskHarness([failing]);
    const { id } = await harness.newTask('speaker');
    await expect((await harness.send('speaker', id, 'Hi')).messages()).rejects.toThrow();
    const again = await harness.send('speaker', id, 'And now?');
    await expect(again.messages()).rejects.toThrow('The handler of the agent threw');
    expect((await harness.messages(id)).length).toBe(4);
  });

  test('before its first update fails the task too', async () => {
    const harness = await createTaskHarness([
      answering(() => {
        throw new Error('Not today');
      }),
    ]);
    const { id } = await harness.newTask('speaker');
    await expect((await harness.send('speaker', id, 'Hi')).messages()).rejects.toThrow(
      'The handler of the agent threw',
    );
    expect((await harness.task(id)).status_reason).toMatch('The handler of the agent threw');
  });
});

describe('an interrupt', () => {
  test('stops the answer, stores the partial answer, and leaves the task usable', async () => {
    let signal: AbortSignal | undefined;
    let turn = 0;
    const harness = await createTaskHarness([
      answering(async function* (_content, context) {
        signal = context.signal;
        yield textDelta(0, turn++ === 0 ? 'Once upon' : 'Again');
        if (turn === 1) await new Promise(() => {});
      }),
    ]);
    const { id } = await harness.newTask('speaker');
    const answer = await harness.send('speaker', id, 'Hi');
    await eventually(async () => (await harness.messages(id)).length === 2);
    const task = await harness.service.tasks.change(id, 'interrupt', 'Enough');
    expect([task.status, signal?.aborted]).toEqual(['INTERRUPTED', true]);
    expect(textsOf(await answer.messages())).toEqual(['Once upon']);
    expect((await harness.service.tasks.change(id, 'interrupt')).status).toBe('INTERRUPTED');
    const next = await harness.send('speaker', id, 'Go on');
    expect(textsOf(await next.messages())).toEqual(['Again']);
    expect((await harness.task(id)).status).toBe('RUNNING');
  });

  test('that cancels closes the task for good', async () => {
    const harness = await createTaskHarness([yielding(textDelta(0, 'x'))]);
    const { id } = await harness.newTask('speaker');
    expect((await harness.service.tasks.change(id, 'cancel')).status).toBe('CANCELED');
    await expect(harness.send('speaker', id, 'Hi')).rejects.toMatchObject({ code: 'bad_state' });
    await expect(harness.service.tasks.change(id, 'complete')).rejects.toMatchObject({
      code: 'bad_state',
    });
  });
});

test('messages to one task are answered one after the other', async () => {
  let atOnce = 0;
  let most = 0;
  const harness = await createTaskHarness([
    answering(async function* (content) {
      most = Math.max(most, ++atOnce);
      yield textDelta(0, content.type === 'text' ? content.content : '');
      await new Promise((resolve) => setImmediate(resolve));
      atOnce--;
    }),
  ]);
  const { id } = await harness.newTask('speaker');
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((text) => harness.send('speaker', id, text)),
  );
  const texts = await Promise.all(answers.map(async (one) => textsOf(await one.messages())));
  expect(texts).toEqual([['a'], ['b'], ['c']]);
  expect(most).toBe(1);
});
