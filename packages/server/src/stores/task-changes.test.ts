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
    const told: unknown[] = [];
    const heard = Promise.withResolvers<void>();
    const stop = other.service.changes.listen(id, ({ status, task_metadata }) => {
      told.push(task_metadata ?? status);
      if (status === 'CANCELED') heard.resolve();
    });
    await one.service.tasks.update(id, { task_metadata: { a: 1 } });
    await one.service.tasks.change(id, 'cancel');
    await heard.promise;
    stop();
    expect(told.at(-1)).toEqual({ a: 1 });
    expect(told.length).toBeLessThanOrEqual(3);
  });
});

describe('rows are polled', () => {
  /**
   * Creates a poller. Counts how often the rows were listed, and collects the published names of
   * the task.
   */
  async function watching(stamp?: () => string) {
    const { rows: kept, newTask } = await createTaskHarness([agent]);
    const { id } = await newTask('agent');
    const asked = { lists: 0, names: [] as unknown[] };
    const rows: Rows = {
      get: (...which) => kept.get(...which),
      list: (...which) => {
        asked.lists++;
        return kept.list(...which);
      },
      put: (...what) => kept.put(...what),
      delete: (...which) => kept.delete(...which),
      close: () => kept.close(),
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
    const listen = () => changes.listen(id, ({ name }) => void asked.names.push(name));
    const rename = async (name: string) => {
      const row = await kept.get('tasks', id);
      if (row === undefined) return expect.fail('it is gone');
      await kept.put('tasks', { id, keys: row.keys, data: { ...row.data, name } });
    };
    return { watch, asked, listen, rename };
  }

  test('never without listeners', async () => {
    const { watch, asked } = await watching();
    await watch.poll();
    expect(asked.lists).toBe(0);
  });

  test('at each interval, if the store has no stamp', async () => {
    const { watch, asked, listen } = await watching();
    listen();
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(asked.lists).toBe(3);
  });

  test('once while the stamp is unchanged, and again after a change', async () => {
    let stamp = 0;
    const { watch, asked, listen, rename } = await watching(() => String(stamp));
    listen();
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(asked.lists).toBe(1);
    await rename('changed');
    stamp++;
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(asked).toEqual({ lists: 2, names: [null, 'changed'] });
  });

  test('again, if they changed during the poll', async () => {
    let stamp = 0;
    const { watch, asked, listen } = await watching(() => String(stamp++));
    listen();
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(asked.lists).toBe(3);
  });
});
