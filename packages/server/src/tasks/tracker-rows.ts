import type { Row, Rows } from '../contract/rows.ts';
import type { TrackerService } from '../contract/service.ts';
import type { Tracker } from '../contract/task.ts';
import { changeRow } from './change-row.ts';
import { isoTime } from './iso-time.ts';
import { listRows } from './list-rows.ts';
import { isConflict, noSuch, rowRefusal } from './row-errors.ts';

type Fields = Pick<Tracker, 'status' | 'status_reason' | 'last_processed_event_id'>;

/** A task has one agent and so one tracker, which has the task's id: clients ask for it by that too. */
export async function makeTracker(rows: Rows, taskId: string, agentId: string): Promise<void> {
  const keys = { task_id: taskId, agent_id: agentId };
  const data = { status: null, status_reason: null, last_processed_event_id: null };
  await rows.put('trackers', { id: taskId, keys, data }, { ifVersion: 0 }).catch((error) => {
    if (!isConflict(error)) throw rowRefusal(error);
  });
}

export function trackerService(rows: Rows): TrackerService {
  return {
    async get(id) {
      const row = await rows.get('trackers', id);
      if (row === undefined) throw noSuch('tracker', id);
      return tracker(row);
    },
    list: ({ taskId, agentId, ...page }) =>
      listRows(
        rows,
        { table: 'trackers', where: { task_id: taskId, agent_id: agentId }, show: tracker },
        page,
      ),
    async update(id, body) {
      const given = Object.fromEntries(
        Object.entries(body).filter(([, value]) => value !== undefined),
      ) as Partial<Fields>;
      const { row } = await changeRow(rows, 'trackers', id, ({ keys, data }) => ({
        keys,
        data: { ...data, ...given },
      }));
      return tracker(row);
    },
  };
}

function tracker({ id, keys, data, createdAt, updatedAt }: Row): Tracker {
  const { status, status_reason, last_processed_event_id } = data as unknown as Fields;
  return {
    ...{ id, agent_id: keys['agent_id'] ?? '', task_id: keys['task_id'] ?? '' },
    ...{ status, status_reason, last_processed_event_id },
    ...{ created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) },
  };
}
