import type { JsonObject } from '@millrace/core';
import type { Row, Rows } from '../contract/rows.ts';
import type { StateService } from '../contract/service.ts';
import type { TaskState } from '../contract/task.ts';
import { isoTime } from './iso-time.ts';
import { listRows } from './list-rows.ts';
import { noSuch, rowRefusal } from './row-errors.ts';

/** What an agent keeps for a task is one row, so that two that are made at once are a conflict. */
export function stateId(taskId: string, agentId: string): string {
  return `${taskId}.${agentId}`;
}

export function putState(
  rows: Rows,
  { taskId, agentId }: { readonly taskId: string; readonly agentId: string },
  state: JsonObject,
  ifVersion: number | undefined,
): Promise<Row> {
  const id = stateId(taskId, agentId);
  const keys = { task_id: taskId, agent_id: agentId };
  return rows.put('states', { id, keys, data: { state } }, { ifVersion }).catch((error) => {
    throw rowRefusal(error);
  });
}

/** `assertTask` throws where there is no such task of that agent. */
export function stateService(
  rows: Rows,
  assertTask: (taskId: string, agentId: string) => Promise<void>,
): StateService {
  const get = async (id: string) => {
    const row = await rows.get('states', id);
    if (row === undefined) throw noSuch('state', id);
    return row;
  };
  return {
    async create({ task_id: taskId, agent_id: agentId, state }) {
      await assertTask(taskId, agentId);
      return taskState(await putState(rows, { taskId, agentId }, state as JsonObject, 0));
    },
    get: async (id) => taskState(await get(id)),
    list: ({ taskId, agentId, ...page }) =>
      listRows(
        rows,
        { table: 'states', where: { task_id: taskId, agent_id: agentId }, show: taskState },
        page,
      ),
    async update(id, { state, version }) {
      const { keys } = await get(id);
      const changed = { id, keys, data: { state: state as JsonObject } };
      const options = { ifVersion: version ?? undefined };
      return rows.put('states', changed, options).then(taskState, (error) => {
        throw rowRefusal(error);
      });
    },
    async delete(id) {
      const row = await get(id);
      await rows.delete('states', id);
      return taskState(row);
    },
  };
}

function taskState({ id, version, keys, data, createdAt, updatedAt }: Row): TaskState {
  return {
    ...{ id, version, task_id: keys['task_id'] ?? '', agent_id: keys['agent_id'] ?? '' },
    state: (data['state'] ?? {}) as TaskState['state'],
    ...{ created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) },
  };
}
