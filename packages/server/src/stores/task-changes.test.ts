import { memoryLog, systemClock } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import type { Rows } from '../contract/rows.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import {
  agentText,
  createTaskHarness,
  ids,
  type TaskHarness,
} from '../testing/servers/task-harness.ts';
import { TaskChanges, TaskRowPoller } from './task-changes.ts';
import { TaskStore } from './task-store.ts';

const agent: ServedAgent = {
  ...{ type: 'sync', name: 'agent' },
  onMessage: async () => agentText('Here'),
};

/** Two servers with the same rows that start at the same time. */
async function sharing(): Promise<readonly [TaskHarness, TaskHarness]> {
  const shared = { log: memoryLog(), rows: memoryRows(), watchMs: 3 };
  return Promise.all([createTaskHarness([agent], shared), createTaskHarness([agent], shared)]);
}

describe('two servers with the same rows', () => {
  test('can both create the same agent', async () => {
    const [one, other] = await sharing();
    expect(await other.idOf('agent')).toBe(await one.idOf('agent'));
  });

  test('publish a change of the other server to their listeners, once', async () => {
    const [one, other] = await sharing();
    const { id } = await one.newTask('agent');
    const published: unknown[] = [];
    const received = Promise.withResolvers<void>();
    const stop = other.service.changes.listen(id, ({ status, task_metadata }) => {
      published.push(task_metadata ?? status);
      if (status === 'CANCELED') received.resolve();
    });
    await one.service.tasks.update(id, { task_metadata: { a: 1 } });
    await one.service.tasks.change(id, 'cancel');
    await received.promise;
    stop();
    expect(published.at(-1)).toEqual({ a: 1 });
    expect(published.length).toBeLessThanOrEqual(3);
  });
});

/** Calls `before` once, before the next change of a row of a task. */
function interrupted(rows: Rows): {
  readonly rows: Rows;
  before: (() => Promise<unknown>) | undefined;
} {
  const hook: { rows: Rows; before: (() => Promise<unknown>) | undefined } = {
    rows,
    before: undefined,
  };
  hook.rows = {
    get: (...which) => rows.get(...which),
    list: (...which) => rows.list(...which),
    put: async (table, ...what) => {
      const { before } = hook;
      if (table === 'tasks') hook.before = undefined;
      if (table === 'tasks') await before?.();
      return rows.put(table, ...what);
    },
    claim: (...which) => rows.claim(...which),
    delete: (...which) => rows.delete(...which),
    close: () => rows.close(),
  };
  return hook;
}

test.each(['delete', 'cancel', 'terminate'] as const)(
  '18.810: attack: a client creates its interrupted task again while an operator closes it: %s',
  async (change) => {
    const hook = interrupted(memoryRows());
    const { service, rows, idOf } = await createTaskHarness([agent], { rows: hook.rows });
    const agentId = await idOf('agent');
    const { id } = await service.tasks.create(agentId, { name: 'mine' });
    await service.tasks.change(id, 'interrupt');
    hook.before = () =>
      change === 'delete' ? service.tasks.delete(id) : service.tasks.change(id, change);
    await service.tasks.create(agentId, { name: 'mine' });
    const status = (await rows.get('tasks', id))?.data['status'];
    expect(status).toBe({ delete: 'DELETED', cancel: 'CANCELED', terminate: 'TERMINATED' }[change]);
  },
);

test('18.810: attack: a late change opens a closed task', async () => {
  const rows = memoryRows();
  const tasks = new TaskStore({ rows, log: memoryLog(), ids, onChange: () => {} });
  const { task } = await tasks.create('agent', {});
  for (const closed of ['CANCELED', 'DELETED'] as const) {
    await tasks.setStatus(task.id, () => closed, null);
    for (const status of ['RUNNING', 'INTERRUPTED', 'FAILED', 'CANCELED'] as const)
      expect((await tasks.setStatus(task.id, () => status, null)).status).toBe(closed);
  }
});

describe('rows are polled', () => {
  /**
   * Creates a poller. Counts how often the rows were listed, and collects the published names of
   * the task.
   */
  async function testPoller(stamp?: () => string) {
    const { rows: stored, newTask } = await createTaskHarness([agent]);
    const { id } = await newTask('agent');
    const polls = { lists: 0, names: [] as unknown[] };
    const rows: Rows = {
      get: (...which) => stored.get(...which),
      list: (...which) => {
        polls.lists++;
        return stored.list(...which);
      },
      put: (...what) => stored.put(...what),
      claim: (...which) => stored.claim(...which),
      delete: (...which) => stored.delete(...which),
      close: () => stored.close(),
      ...(stamp && { stamp: async () => stamp() }),
    };
    const changes = new TaskChanges();
    const onDiagnostic = (problem: string) => expect.fail(problem);
    const watch = new TaskRowPoller({
      rows,
      changes,
      clock: systemClock,
      everyMs: 1,
      onDiagnostic,
    });
    const listen = () => changes.listen(id, ({ name }) => void polls.names.push(name));
    const rename = async (name: string) => {
      const row = await stored.get('tasks', id);
      if (row === undefined) return expect.fail('it is gone');
      await stored.put('tasks', { id, keys: row.keys, data: { ...row.data, name } });
    };
    return { watch, polls, listen, rename };
  }

  test('never without listeners', async () => {
    const { watch, polls } = await testPoller();
    await watch.poll();
    expect(polls.lists).toBe(0);
  });

  test('at each interval, if the store has no stamp', async () => {
    const { watch, polls, listen } = await testPoller();
    listen();
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(polls.lists).toBe(3);
  });

  test('once while the stamp is unchanged, and again after a change', async () => {
    let stamp = 0;
    const { watch, polls, listen, rename } = await testPoller(() => String(stamp));
    listen();
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(polls.lists).toBe(1);
    await rename('changed');
    stamp++;
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(polls).toEqual({ lists: 2, names: [null, 'changed'] });
  });

  test('again, if they changed during the poll', async () => {
    let stamp = 0;
    const { watch, polls, listen } = await testPoller(() => String(stamp++));
    listen();
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(polls.lists).toBe(3);
  });
});
