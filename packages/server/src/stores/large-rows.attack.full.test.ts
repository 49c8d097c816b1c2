import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RowQuery, Rows } from '../contract/rows.ts';
import type { PageQuery } from '../contract/service.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import { createTaskHarness, tickingClock } from '../testing/servers/task-harness.ts';

// A client with a token for one agent fills the metadata of its tasks. An older release stored any length.

const quiet = { type: 'async', name: 'listener', onEvent: async () => {} } as const;
const page: PageQuery = { limit: 50, pageNumber: 1, orderBy: 'updated_at', direction: 'desc' };

/** Starts a service whose row store counts the characters of the rows that each query returns. */
async function serveTasks() {
  const stored = memoryRows({ clock: tickingClock() });
  const queries: number[] = [];
  const rows: Rows = {
    ...{ get: stored.get.bind(stored), put: stored.put.bind(stored) },
    ...{ claim: stored.claim.bind(stored), delete: stored.delete.bind(stored) },
    close: stored.close.bind(stored),
    async list(table, query?: RowQuery) {
      const found = await stored.list(table, query);
      if (table === 'tasks') queries.push(JSON.stringify(found.map(({ data }) => data)).length);
      return found;
    },
  };
  const { service, newTask } = await createTaskHarness([quiet], { rows });
  /** Stores a task as an older release did, with metadata and params of any length. */
  const addTask = async (fields: object) => {
    const { id } = await newTask('listener');
    const row = await stored.get('tasks', id);
    if (row !== undefined) await stored.put('tasks', { ...row, data: { ...row.data, ...fields } });
    return id;
  };
  const take = () => queries.splice(0);
  return { service, addTask, newTask, take };
}

const long = (length: number) => 'x'.repeat(length);

test('18.492: attack: a search of large tasks reads them in small pieces, and other requests run between them', async () => {
  const { service, addTask, take } = await serveTasks();
  for (let n = 0; n < 30; n++) await addTask({ task_metadata: { a: long(2 ** 19) } });
  for (const search of [{ search: 'nothing' }, { metadata: { a: 'y' } }]) {
    take();
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      for (; !isDone; turns++) await nextTurn();
    })();
    const found = await service.tasks.list({ ...page, limit: 1, ...search });
    isDone = true;
    await others;
    expect(found).toEqual({ data: [], next: null });
    const read = take();
    expect(Math.max(...read)).toBeLessThan(2 ** 20 + 2 ** 16);
    expect(turns).toBeGreaterThanOrEqual(15);
  }
});

test('18.492: attack: a search reads at most about 100 MiB for one page, and its cursor continues', async () => {
  const { service, addTask, take } = await serveTasks();
  const wanted = await addTask({ task_metadata: { a: 'y' } });
  // Two of these tasks are too long for one query, so each query reads one task.
  const length = 2 ** 19 + 2 ** 12;
  for (let n = 0; n < 110; n++) await addTask({ task_metadata: { a: long(length) } });
  take();
  const query = { ...page, limit: 1, metadata: { a: 'y' } };
  const first = await service.tasks.list(query);
  expect(first).toEqual({ data: [], next: expect.any(String) });
  expect(take().reduce((sum, read) => sum + read)).toBeLessThan(105 * length);
  const second = await service.tasks.list({ ...query, cursor: first.next ?? '' });
  expect(second.data.map(({ id }) => id)).toEqual([wanted]);
});

test.each(['task_metadata', 'params'])(
  '18.493: attack: tasks with large %s do not make the list of sessions fail',
  async (field) => {
    const { service, addTask } = await serveTasks();
    const ids: string[] = [];
    for (let n = 0; n < 40; n++) ids.unshift(await addTask({ [field]: { a: long(2 ** 20) } }));
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const listed = await service.tasks.list({ ...page, place: 'recent', cursor });
      expect(listed.data.length).toBeGreaterThan(0);
      found.push(...listed.data.map(({ id }) => id));
      cursor = listed.next ?? undefined;
    } while (cursor !== undefined);
    expect(found).toEqual(ids);
  },
);

test('18.494: attack: the metadata and params of a task have a maximum length', async () => {
  const { service, addTask, newTask } = await serveTasks();
  const { id: agentId } = await service.agents.get({ name: 'listener' });
  const refused = { code: 'too_large' };
  const [metadata, params] = [{ a: long(2 ** 16) }, { a: long(2 ** 18) }];
  await expect(service.tasks.create(agentId, { task_metadata: metadata })).rejects.toMatchObject(
    refused,
  );
  await expect(service.tasks.create(agentId, { params })).rejects.toMatchObject(refused);
  const { id } = await newTask('listener');
  for (const change of [
    { task_metadata: metadata },
    { merge_metadata: metadata },
    { merge_params: params },
  ])
    await expect(service.tasks.update(id, change)).rejects.toMatchObject(refused);
  // Several small changes reach the same maximum.
  const half = { merge_metadata: { a: long(2 ** 15) } };
  expect((await service.tasks.update(id, half)).task_metadata).toEqual(half.merge_metadata);
  await expect(
    service.tasks.update(id, { merge_metadata: { b: long(2 ** 15) } }),
  ).rejects.toMatchObject(refused);
  // A task of an older release can be archived, but not enlarged.
  const old = await addTask({ task_metadata: { a: long(2 ** 20) } });
  const archived = await service.tasks.update(old, { merge_metadata: { archived: true } });
  expect(archived.task_metadata?.['archived']).toBe(true);
  await expect(
    service.tasks.update(old, { merge_metadata: { b: long(2 ** 15) } }),
  ).rejects.toMatchObject(refused);
  const small = await service.tasks.update(old, { task_metadata: { title: 'Refund' } });
  expect(small.task_metadata).toEqual({ title: 'Refund' });
});
