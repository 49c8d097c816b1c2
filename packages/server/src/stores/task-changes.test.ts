import { memoryLog, systemClock } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import type { Rows } from '../contract/rows.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import { agentText, createTaskHarness, type TaskHarness } from '../testing/servers/task-harness.ts';
import { TaskChanges, TaskRowPoller } from './task-changes.ts';

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
