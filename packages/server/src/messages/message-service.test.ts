import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import type { TaskMessage } from '../contract/message.ts';
import {
  agentText,
  createTaskHarness,
  textsOf,
  tickingClock,
  userText,
} from '../testing/servers/task-harness.ts';

const quiet = { type: 'async', name: 'listener', onEvent: async () => {} } as const;

async function withMessages(...texts: readonly string[]) {
  const clock = tickingClock();
  const log = memoryLog({ clock });
  const harness = await createTaskHarness([quiet], { log, clock });
  const { id: task_id } = await harness.newTask('listener');
  const created: TaskMessage[] = [];
  for (const text of texts)
    created.push(await harness.service.messages.create({ task_id, content: userText(text) }));
  const id = task_id;
  return { ...harness, id, created, idOfMessage: (place: number) => created[place]?.id ?? '' };
}

describe('a list of messages', () => {
  test('is newest first by default, and has pages and a cursor', async () => {
    const { service, id } = await withMessages('a', 'b', 'c', 'd', 'e');
    const query = { taskId: id, filters: [], orderBy: 'created_at', limit: 2 } as const;
    const desc = { ...query, direction: 'desc' } as const;
    const first = await service.messages.list({ ...desc, pageNumber: 1 });
    const second = await service.messages.list({ ...desc, pageNumber: 2 });
    const next = await service.messages.list({ ...desc, pageNumber: 1, cursor: first.next ?? '' });
    expect([first, second].map(({ data }) => textsOf(data))).toEqual([
      ['e', 'd'],
      ['c', 'b'],
    ]);
    expect(next.data).toEqual(second.data);
    const last = await service.messages.list({ ...desc, pageNumber: 3 });
    expect([textsOf(last.data), last.next]).toEqual([['a'], null]);
  });

  test('by cursor, in either direction, has every message once', async () => {
    const { service, id } = await withMessages('a', 'b', 'c', 'd', 'e');
    for (const direction of ['older', 'newer'] as const) {
      const found: TaskMessage[] = [];
      let cursor: string | undefined;
      do {
        const query = { taskId: id, filters: [], limit: 2, direction, cursor };
        const { data, next } = await service.messages.page(query);
        found.push(...data);
        cursor = next ?? undefined;
      } while (cursor !== undefined);
      const texts = direction === 'older' ? ['e', 'd', 'c', 'b', 'a'] : ['a', 'b', 'c', 'd', 'e'];
      expect(textsOf(found)).toEqual(texts);
    }
    const odd = { taskId: id, filters: [], limit: 2, direction: 'older', cursor: 'odd' } as const;
    await expect(service.messages.page(odd)).rejects.toMatchObject({ code: 'invalid' });
  });

  test('is filtered by including and excluding filters', async () => {
    const { service, id } = await withMessages('a', 'b');
    await service.messages.create({ task_id: id, content: agentText('c') });
    const open = { task_id: id, content: agentText('d'), streaming_status: 'IN_PROGRESS' } as const;
    await service.messages.create(open);
    const listed = async (filters: Parameters<typeof service.messages.page>[0]['filters']) =>
      textsOf(
        (await service.messages.page({ taskId: id, filters, limit: 9, direction: 'newer' })).data,
      );
    expect(await listed([{ content: { author: 'user' }, exclude: false }])).toEqual(['a', 'b']);
    expect(await listed([{ content: { author: 'user' }, exclude: true }])).toEqual(['c', 'd']);
    expect(await listed([{ streaming_status: 'IN_PROGRESS', exclude: false }])).toEqual(['d']);
    const either = ['a', 'c'].map((content) => ({ content: { content }, exclude: false }));
    expect(await listed(either)).toEqual(['a', 'c']);
  });

  test('of an unknown task is refused', async () => {
    const { service } = await createTaskHarness([quiet]);
    const query = { taskId: 'nobody', filters: [], limit: 2, direction: 'older' } as const;
    await expect(service.messages.page(query)).rejects.toMatchObject({ code: 'not_found' });
    for (const id of ['nobody.0.0.p1', 'odd', ''])
      await expect(service.messages.get(id)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('an edit', () => {
  test('of a finished message keeps its id, position and time', async () => {
    const { service, id, messages, created, idOfMessage } = await withMessages('a', 'b', 'c');
    const edit = { task_id: id, content: userText('B') };
    const edited = await service.messages.update(idOfMessage(1), edit);
    expect([edited.id, edited.created_at]).toEqual([created[1]?.id, created[1]?.created_at]);
    expect(textsOf(await messages(id))).toEqual(['a', 'B', 'c']);
    const again = await service.messages.updateMany({
      ...{
        task_id: id,
        updates: { [idOfMessage(1)]: userText('BB'), [idOfMessage(2)]: agentText('C') },
      },
    });
    expect(textsOf(again)).toEqual(['BB', 'C']);
    expect((await messages(id)).map((one) => one.id)).toEqual(created.map((one) => one.id));
    expect(await service.messages.get(idOfMessage(1))).toMatchObject({ content: userText('BB') });
  });

  test('of a streaming message extends or replaces it, until it is done', async () => {
    const { service, id, messages } = await withMessages();
    const streaming_status = 'IN_PROGRESS' as const;
    const open = { task_id: id, content: agentText(''), streaming_status };
    const { id: created } = await service.messages.create(open);
    const edit = (text: string, status?: 'DONE' | 'IN_PROGRESS') =>
      service.messages.update(created ?? '', {
        ...{ task_id: id, content: agentText(text), streaming_status: status },
      });
    for (const text of ['One', 'One two', 'No: three', 'No: three four'])
      expect(await edit(text, 'IN_PROGRESS')).toMatchObject({
        ...{ id: created, content: agentText(text), streaming_status },
      });
    expect(await edit('In all, four')).toMatchObject({ id: created, streaming_status: 'DONE' });
    expect(textsOf(await messages(id))).toEqual(['In all, four']);
  });

  test('of an unknown message, or in another task, is refused', async () => {
    const { service, id, idOfMessage, newTask } = await withMessages('a');
    const other = await newTask('listener');
    const content = userText('x');
    for (const [message, task_id] of [
      [`${id}.0.0.none`, id],
      [idOfMessage(0), other.id],
      ['odd', id],
    ] as const)
      await expect(service.messages.update(message, { task_id, content })).rejects.toMatchObject({
        code: 'not_found',
      });
  });
});

test('a message may have its own time, and is sorted by it', async () => {
  const { service, id, messages } = await withMessages('now');
  const created_at = '2020-01-02T03:04:05.000Z';
  const old = await service.messages.create({ task_id: id, content: userText('then'), created_at });
  expect(old.created_at).toBe(created_at);
  expect(textsOf(await messages(id))).toEqual(['then', 'now']);
  expect(await service.messages.get(old.id ?? '')).toEqual(old);
});

test('reasoning with several entries is one message', async () => {
  const { service, id, messages } = await withMessages();
  const block = { type: 'reasoning', author: 'agent', style: 'static' } as const;
  const content = { ...block, summary: ['a', 'b'], content: ['c'] };
  const created = await service.messages.create({ task_id: id, content });
  expect(await messages(id)).toEqual([created]);
  expect(created.content).toEqual(content);
});

test('several are created at once, in order', async () => {
  const { service, id, messages } = await withMessages();
  const contents = ['a', 'b', 'c'].map((text) => userText(text));
  const created = await service.messages.createMany({ task_id: id, contents });
  expect(textsOf(created)).toEqual(['a', 'b', 'c']);
  expect(await messages(id)).toEqual(created);
});

test('content with an invalid id is refused, and the task continues', async () => {
  const { service, id, messages, idOfMessage } = await withMessages('a');
  const head = { type: 'tool_request', author: 'agent', style: 'static' } as const;
  const content = { ...head, tool_call_id: '\u0000', name: 'look', arguments: {} };
  const refused = { code: 'invalid' };
  const create = service.messages.create({ task_id: id, content });
  await expect(create).rejects.toMatchObject(refused);
  const edit = service.messages.update(idOfMessage(0), { task_id: id, content });
  await expect(edit).rejects.toMatchObject(refused);
  await service.messages.update(idOfMessage(0), { task_id: id, content: userText('b\ud800') });
  expect(textsOf(await messages(id))).toEqual(['b\ufffd']);
});
