import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import type { ServedAgent } from '../agents/served-agent.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import { agentText, type TaskStage, taskStage } from '../testing/task-stage.ts';

const agent: ServedAgent = {
  ...{ type: 'sync', name: 'agent' },
  onMessage: async () => agentText('Here'),
};

/** Servers of the same rows that begin at once. */
async function sharing(): Promise<readonly [TaskStage, TaskStage]> {
  const shared = { log: memoryLog(), rows: memoryRows(), watchMs: 3 };
  return Promise.all([taskStage([agent], shared), taskStage([agent], shared)]);
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
