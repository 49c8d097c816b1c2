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

/** Servers of the same rows that begin at once. */
async function sharing(): Promise<readonly [TaskHarness, TaskHarness]> {
  const shared = { log: memoryLog(), rows: memoryRows(), watchMs: 3 };
  return Promise.all([createTaskHarness([agent], shared), createTaskHarness([agent], shared)]);
}

describe('of two servers of the same rows', () => {
  test('both can be the first to have an agent', async () => {
    const [one, other] = await sharing();
    expect(await other.idOf('agent')).toBe(await one.idOf('agent'));
  });

  test('one tells who watches a task there what the other made of its row, once', async () => {
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

describe('rows are asked', () => {
  /** A watch of some rows, how often they were listed, and the names of the task that it told. */
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

  test('by nobody while nobody watches', async () => {
    const { watch, asked } = await watching();
    await watch.poll();
    expect(asked.lists).toBe(0);
  });

  test('with each look, where they cannot say whether they are as they were', async () => {
    const { watch, asked, listen } = await watching();
    listen();
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(asked.lists).toBe(3);
  });

  test('once, where they say that nobody changed them, and again when somebody did', async () => {
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

  test('again, where they were changed while they were listed', async () => {
    let stamp = 0;
    const { watch, asked, listen } = await watching(() => String(stamp++));
    listen();
    for (let poll = 0; poll < 3; poll++) await watch.poll();
    expect(asked.lists).toBe(3);
  });
});
