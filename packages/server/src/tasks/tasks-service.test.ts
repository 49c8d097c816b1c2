import { describe, expect, test } from 'vitest';
import type { Task } from '../contract/task.ts';
import { agentText, createTaskHarness, tickingClock } from '../testing/servers/task-harness.ts';

const quiet = { type: 'async', name: 'listener', onEvent: async () => {} } as const;
const speaker = { type: 'sync', name: 'speaker', onMessage: async () => agentText('Yes') } as const;
const page = { limit: 50, pageNumber: 1, orderBy: 'created_at', direction: 'asc' } as const;

describe('creating a task', () => {
  test('with a known name returns that task with the new params', async () => {
    const { service, idOf } = await createTaskHarness([quiet]);
    const agent = await idOf('listener');
    const first = await service.tasks.create(agent, { name: 'one', params: { a: 1 } });
    const again = await service.tasks.create(agent, { name: 'one', params: { b: 2 } });
    expect([again.id, again.params]).toEqual([first.id, { b: 2 }]);
    const plain = await service.tasks.create(agent, { name: 'one' });
    expect(plain.params).toEqual({ b: 2 });
  });

  test('concurrently with one name creates one task', async () => {
    const { service, idOf } = await createTaskHarness([quiet]);
    const agent = await idOf('listener');
    const created = Array.from({ length: 8 }, () => service.tasks.create(agent, { name: 'one' }));
    expect(new Set((await Promise.all(created)).map(({ id }) => id)).size).toBe(1);
  });

  test('notifies the agent once', async () => {
    let created = 0;
    const onTaskCreate = async () => {
      created++;
    };
    const { service, idOf } = await createTaskHarness([{ ...quiet, onTaskCreate }]);
    const agent = await idOf('listener');
    await service.tasks.create(agent, { name: 'one' });
    await service.tasks.create(agent, { name: 'one' });
    await service.close();
    expect(created).toBe(1);
  });

  test('with the name of another agent’s task is refused, and so is using that task', async () => {
    const { service, idOf } = await createTaskHarness([quiet, speaker]);
    const task = await service.tasks.create(await idOf('listener'), { name: 'one' });
    const other = await idOf('speaker');
    await expect(service.tasks.create(other, { name: 'one' })).rejects.toMatchObject({
      code: 'conflict',
    });
    const message = { task_id: task.id, content: agentText('?') };
    await expect(service.tasks.sendMessage(other, message)).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});

describe('a task', () => {
  test('is listed by agent, status and metadata, page by page', async () => {
    const { service, idOf } = await createTaskHarness([quiet, speaker], { clock: tickingClock() });
    const agentId = await idOf('listener');
    const created: Task[] = [];
    for (let n = 0; n < 7; n++)
      created.push(await service.tasks.create(agentId, { task_metadata: { odd: n % 2 === 1, n } }));
    await service.tasks.create(await idOf('speaker'), {});
    await service.tasks.change(created[0]?.id ?? '', 'complete');
    await service.tasks.delete(created[1]?.id ?? '');
    const ids = (tasks: readonly { id: string }[]) => tasks.map(({ id }) => id);
    const listed = await service.tasks.list({ ...page, agentId });
    expect(ids(listed.data)).toEqual(ids(created).toSpliced(1, 1));
    expect(listed.data[0]?.agents).toMatchObject([{ id: agentId }]);
    const done = await service.tasks.list({ ...page, agentId, status: 'COMPLETED' });
    expect(ids(done.data)).toEqual([created[0]?.id]);
    const few = { ...page, agentId, limit: 1, metadata: { odd: true } };
    const first = await service.tasks.list(few);
    const second = await service.tasks.list({ ...few, cursor: first.next ?? '' });
    const third = await service.tasks.list({ ...few, pageNumber: 2 });
    expect([first, second, third].flatMap(({ data }) => ids(data))).toEqual(
      [3, 5, 5].map((n) => created[n]?.id),
    );
    expect(second.next).toBeNull();
  });

  test('notifies its listeners of each change until they unsubscribe', async () => {
    const { service, newTask } = await createTaskHarness([quiet]);
    const { id } = await newTask('listener');
    const notified: (string | null)[] = [];
    const stop = service.changes.listen(id, ({ status }) => {
      notified.push(status);
      throw new Error('A listener changes nothing');
    });
    await service.tasks.change(id, 'interrupt');
    await service.tasks.update(id, { task_metadata: { a: 1 } });
    await service.tasks.update(id, { task_metadata: { a: 1 } });
    stop();
    await service.tasks.change(id, 'fail', 'For reasons');
    expect(notified).toEqual(['INTERRUPTED', 'INTERRUPTED']);
    expect((await service.tasks.get({ id })).status_reason).toBe('For reasons');
  });

  test('stays closed: nothing changes it, and a deleted task is not found', async () => {
    const { service, newTask } = await createTaskHarness([quiet]);
    const { id } = await newTask('listener');
    await service.tasks.change(id, 'terminate');
    for (const change of ['complete', 'fail', 'cancel', 'interrupt', 'timeout'] as const)
      await expect(service.tasks.change(id, change)).rejects.toMatchObject({ code: 'bad_state' });
    await service.tasks.delete(id);
    await expect(service.tasks.get({ id })).rejects.toMatchObject({ code: 'not_found' });
    await expect(service.tasks.delete(id)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('has its params merged and its metadata replaced', async () => {
    const { service, idOf } = await createTaskHarness([quiet]);
    const { id } = await service.tasks.create(await idOf('listener'), { params: { a: 1, b: 1 } });
    const task = await service.tasks.update(id, {
      merge_params: { b: 2 },
      task_metadata: { m: 1 },
    });
    expect([task.params, task.task_metadata]).toEqual([{ a: 1, b: 2 }, { m: 1 }]);
  });

  test('has a tracker that is found by the task’s id', async () => {
    const { service, newTask } = await createTaskHarness([quiet]);
    const { id } = await newTask('listener');
    const changed = await service.trackers.update(id, { status: 'busy' });
    expect(await service.trackers.get(id)).toEqual(changed);
    expect((await service.trackers.list({ ...page, taskId: id })).data).toEqual([changed]);
  });
});

describe('a state', () => {
  test('exists once per task and agent, and is changed by version', async () => {
    const { service, newTask, idOf } = await createTaskHarness([quiet]);
    const { id: task_id } = await newTask('listener');
    const agent_id = await idOf('listener');
    const created = await service.states.create({ task_id, agent_id, state: { n: 1 } });
    await expect(service.states.create({ task_id, agent_id, state: {} })).rejects.toMatchObject({
      code: 'conflict',
    });
    const changed = await service.states.update(created.id, {
      state: { n: 2 },
      version: created.version,
    });
    await expect(
      service.states.update(created.id, { state: { n: 3 }, version: created.version }),
    ).rejects.toMatchObject({ code: 'conflict' });
    expect(await service.states.delete(created.id)).toEqual(changed);
    await expect(service.states.get(created.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('of another agent’s task is refused', async () => {
    const { service, newTask } = await createTaskHarness([quiet]);
    const { id: task_id } = await newTask('listener');
    const create = service.states.create({ task_id, agent_id: 'nobody', state: {} });
    await expect(create).rejects.toMatchObject({ code: 'not_found' });
  });
});

test('agents of the server are ready, keep their ids, and cannot be deleted', async () => {
  const clock = tickingClock();
  const { service, idOf, rows } = await createTaskHarness([quiet, speaker], { clock });
  const { data } = await service.agents.list(page);
  expect(data.map(({ name, status, acp_type }) => [name, status, acp_type])).toEqual([
    ['listener', 'Ready', 'async'],
    ['speaker', 'Ready', 'sync'],
  ]);
  const again = await createTaskHarness([quiet], { rows });
  expect(await again.idOf('listener')).toBe(await idOf('listener'));
  await expect(service.agents.delete(await idOf('speaker'))).rejects.toMatchObject({
    code: 'conflict',
  });
});

test('a closing service accepts no requests', async () => {
  const { service, newTask, send, idOf } = await createTaskHarness([quiet, speaker]);
  const { id } = await newTask('speaker');
  const agent = await idOf('listener');
  await service.close();
  await expect(send('speaker', id, 'Hi')).rejects.toMatchObject({ code: 'unavailable' });
  await expect(service.tasks.create(agent, {})).rejects.toMatchObject({ code: 'unavailable' });
});
