import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import type { UpdateInput } from '../contract/message.ts';
import type { AsyncAgent, SyncAgent } from '../contract/served-agent.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import {
  agentText,
  collect,
  createTaskHarness,
  eventually,
  textDelta,
  textsOf,
  typesOf,
  userText,
} from '../testing/servers/task-harness.ts';

// Faults that were observed in Agentex's server. They must not occur here.
const yielding = (...updates: readonly UpdateInput[]): SyncAgent => ({
  ...{ type: 'sync', name: 'speaker' },
  onMessage: async function* () {
    yield* updates;
  },
});
const onEvent = (handle: AsyncAgent['onEvent']): AsyncAgent => ({
  ...{ type: 'async', name: 'listener', onEvent: handle },
});

async function answerOf(...updates: readonly UpdateInput[]) {
  const harness = await createTaskHarness([yielding(...updates)]);
  const { id } = await harness.newTask('speaker');
  const messages = await (await harness.send('speaker', id, 'Hi')).messages();
  return { messages, status: (await harness.task(id)).status };
}

test('a disconnected client does not stop the answer, and the rest of the answer is stored', async () => {
  const gate = Promise.withResolvers<void>();
  const harness = await createTaskHarness([
    {
      ...{ type: 'sync', name: 'speaker' },
      onMessage: async function* () {
        yield textDelta(0, 'one ');
        await gate.promise;
        yield textDelta(0, 'two ');
        yield textDelta(0, 'three');
      },
    },
  ]);
  const { id } = await harness.newTask('speaker');
  const answer = await harness.send('speaker', id, 'Count');
  for await (const update of answer.updates()) if (update.type === 'delta') break;
  gate.resolve();
  expect(textsOf(await answer.messages())).toEqual(['one two three']);
});

test('every delta of a crashed agent is stored', async () => {
  const harness = await createTaskHarness([
    {
      ...{ type: 'sync', name: 'speaker' },
      onMessage: async function* () {
        for (const word of ['one ', 'two ', 'three']) yield textDelta(0, word);
        throw new Error('gone');
      },
    },
  ]);
  const { id } = await harness.newTask('speaker');
  await expect((await harness.send('speaker', id, 'Count')).messages()).rejects.toThrow(
    'The handler of the agent threw',
  );
  expect(textsOf(await harness.messages(id))).toEqual(['Count', 'one two three']);
});

test('without streaming, deltas without a done are not lost', async () => {
  const { messages } = await answerOf(textDelta(0, 'No '), textDelta(0, 'done'));
  expect(textsOf(messages)).toEqual(['No done']);
});

test('a start and a done without a delta store the content of the start', async () => {
  const { messages, status } = await answerOf(
    { type: 'start', index: 0, content: agentText('As it is') },
    { type: 'done', index: 0 },
  );
  expect([textsOf(messages), status]).toEqual([['As it is'], 'RUNNING']);
});

test('accepts updates without an index', async () => {
  const { messages } = await answerOf(
    { type: 'delta', delta: { type: 'text', text_delta: 'No ' } },
    { type: 'delta', delta: { type: 'text', text_delta: 'index' } },
  );
  expect(textsOf(messages)).toEqual(['No index']);
});

test('two calls at one index are two messages', async () => {
  const call = (id: string, arguments_delta: string): UpdateInput => ({
    ...{ type: 'delta', index: 0 },
    delta: { type: 'tool_request', tool_call_id: id, name: 'look', arguments_delta },
  });
  const { messages } = await answerOf(call('c1', '{"a":'), call('c2', '{"b":2}'), call('c1', '1}'));
  expect(messages.map(({ content }) => content)).toMatchObject([
    { tool_call_id: 'c1', arguments: { a: 1 } },
    { tool_call_id: 'c2', arguments: { b: 2 } },
  ]);
});

test('accepts a tool call without arguments', async () => {
  const delta = { type: 'tool_request', tool_call_id: 'c1', name: 'now' } as const;
  const { messages, status } = await answerOf({ type: 'delta', index: 0, delta });
  expect(messages[0]?.content).toMatchObject({ type: 'tool_request', name: 'now', arguments: {} });
  expect(status).toBe('RUNNING');
});

test('summary and content of one reasoning block are one message', async () => {
  const { messages, status } = await answerOf(
    {
      ...{ type: 'delta', index: 0 },
      delta: { type: 'reasoning_summary', summary_index: 0, summary_delta: 'In short' },
    },
    {
      ...{ type: 'delta', index: 0 },
      delta: { type: 'reasoning_content', content_index: 0, content_delta: 'At length' },
    },
  );
  expect(messages.map(({ content }) => content)).toMatchObject([
    { type: 'reasoning', summary: ['In short'], content: ['At length'] },
  ]);
  expect(status).toBe('RUNNING');
});

test('done is sent after the message is stored', async () => {
  const harness = await createTaskHarness([yielding(textDelta(0, 'Kept'))]);
  const { id } = await harness.newTask('speaker');
  const answer = await harness.send('speaker', id, 'Hi');
  let isStored = false;
  for await (const { type, parent_task_message } of answer.updates()) {
    if (type !== 'done') continue;
    const message = await harness.service.messages.get(parent_task_message?.id ?? '');
    isStored = message.streaming_status === 'DONE' && textsOf([message])[0] === 'Kept';
  }
  expect(isStored).toBe(true);
});

test('text, then a full with citations, then late deltas and a done: the full is sent, stored and returned', async () => {
  const full = agentText('Cited [1]');
  const harness = await createTaskHarness([
    yielding(
      textDelta(0, 'Ci'),
      textDelta(0, 'ted'),
      { type: 'full', index: 0, content: full },
      textDelta(0, ' too late'),
      { type: 'done', index: 0 },
    ),
  ]);
  const { id } = await harness.newTask('speaker');
  const answer = await harness.send('speaker', id, 'Hi');
  const updates = await collect(answer.updates());
  expect(typesOf(updates)).toEqual(['start 0', 'delta 0', 'full 0']);
  expect(updates.at(-1)).toMatchObject({ content: full, parent_task_message: { content: full } });
  expect((await answer.messages())[0]).toMatchObject({ content: full, streaming_status: 'DONE' });
});

describe('the manual context', () => {
  test('rethrows errors of the handler, closes the message and fails the task', async () => {
    let caught: unknown;
    const harness = await createTaskHarness([
      onEvent(async (_event, { stream }) => {
        try {
          await using message = await stream.open(agentText(''));
          await message.write({ type: 'delta', delta: { type: 'text', text_delta: 'Half' } });
          throw new Error('It broke');
        } catch (error) {
          caught = error;
          throw error;
        }
      }),
    ]);
    const { id: task_id } = await harness.newTask('listener');
    const agent = await harness.idOf('listener');
    await harness.service.tasks.sendEvent(agent, { task_id, content: userText('Go') });
    await eventually(async () => (await harness.task(task_id)).status === 'FAILED');
    expect(caught).toEqual(new Error('It broke'));
    expect((await harness.task(task_id)).status_reason).toMatch('The handler of the agent threw');
    expect(await harness.messages(task_id)).toMatchObject([
      { content: { content: 'Half' }, streaming_status: 'DONE' },
    ]);
  });

  test('returns the full content after a full update', async () => {
    const returned: unknown[] = [];
    const harness = await createTaskHarness([
      onEvent(async (_event, { stream }) => {
        const message = await stream.open(agentText(''));
        await message.write({ type: 'delta', delta: { type: 'text', text_delta: 'draft' } });
        await message.write({ type: 'full', content: agentText('Final') });
        returned.push(message.message.content, (await message.close()).content);
        const other = await stream.open(agentText('draft'));
        returned.push((await other.close(agentText('Final'))).content);
      }),
    ]);
    const { id: task_id } = await harness.newTask('listener');
    const agent = await harness.idOf('listener');
    await harness.service.tasks.sendEvent(agent, { task_id, content: userText('Go') });
    await eventually(async () => returned.length === 3);
    expect(returned).toEqual([agentText('Final'), agentText('Final'), agentText('Final')]);
    expect(textsOf(await harness.messages(task_id))).toEqual(['Final', 'Final']);
  });
});

test('runs in one process with a log and rows in memory', async () => {
  const harness = await createTaskHarness([yielding(textDelta(0, 'Alone'))], {
    ...{ log: memoryLog(), rows: memoryRows() },
  });
  const { id } = await harness.newTask('speaker');
  expect(textsOf(await (await harness.send('speaker', id, 'Hi')).messages())).toEqual(['Alone']);
});
