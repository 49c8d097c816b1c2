import { isId, type JsonObject } from '@millrace/core';
import type { CreateSpan } from '../contract/request-bodies.ts';
import type { Row, Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type {
  ListPage,
  SpanService,
  StateService,
  TaskFilter,
  TrackerService,
} from '../contract/service.ts';
import type { SpanInfo, TaskState, Tracker } from '../contract/task.ts';
import {
  changeRow,
  fromRowsError,
  isConflict,
  isoTime,
  listRows,
  notFoundError,
} from './row-access.ts';

/**
 * Returns the id of the row that stores an agent's state for a task. The id is derived from both ids, so two
 * concurrent creations conflict.
 */
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
    throw fromRowsError(error);
  });
}

/** Creates the service for states. `assertTask` throws if the agent has no task with this id. */
export function stateService(
  rows: Rows,
  assertTask: (taskId: string, agentId: string) => Promise<void>,
): StateService {
  const get = async (id: string) => {
    const row = await rows.get('states', id);
    if (row === undefined) throw notFoundError('state', id);
    return row;
  };
  return {
    async create({ task_id: taskId, agent_id: agentId, state }) {
      await assertTask(taskId, agentId);
      return toTaskState(await putState(rows, { taskId, agentId }, state as JsonObject, 0));
    },
    get: async (id) => toTaskState(await get(id)),
    list: (query) => listOfTasks(rows, 'states', toTaskState, query),
    async update(id, { state, version }) {
      const { keys } = await get(id);
      const changed = { id, keys, data: { state: state as JsonObject } };
      const options = { ifVersion: version ?? undefined };
      return rows.put('states', changed, options).then(toTaskState, (error) => {
        throw fromRowsError(error);
      });
    },
    async delete(id) {
      const row = await get(id);
      await rows.delete('states', id);
      return toTaskState(row);
    },
  };
}

function toTaskState({ id, version, keys, data, createdAt, updatedAt }: Row): TaskState {
  return {
    ...{ id, version, task_id: keys['task_id'] ?? '', agent_id: keys['agent_id'] ?? '' },
    state: (data['state'] ?? {}) as TaskState['state'],
    ...{ created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) },
  };
}

type Fields = Pick<Tracker, 'status' | 'status_reason' | 'last_processed_event_id'>;

/** Returns one page of the rows of tasks and agents. */
function listOfTasks<T>(
  rows: Rows,
  table: 'states' | 'trackers',
  toItem: (row: Row) => T,
  { taskId, agentId, isTaskShown, ...page }: TaskFilter,
): Promise<ListPage<T>> {
  const where = { task_id: taskId, agent_id: agentId };
  const matches = isTaskShown && (({ keys }: Row) => isTaskShown(keys['task_id'] ?? ''));
  return listRows(rows, { table, where, matches, toItem }, page);
}

/**
 * Creates the tracker of a task. A task has one agent and therefore one tracker. The tracker's id is the
 * task's id.
 */
export async function createTracker(rows: Rows, taskId: string, agentId: string): Promise<void> {
  const keys = { task_id: taskId, agent_id: agentId };
  const data = { status: null, status_reason: null, last_processed_event_id: null };
  await rows.put('trackers', { id: taskId, keys, data }, { ifVersion: 0 }).catch((error) => {
    if (!isConflict(error)) throw fromRowsError(error);
  });
}

/**
 * Stores the last event that an agent has handled. If a later run of the task has already stored an event,
 * the call has no effect.
 */
export async function trackEvent(
  rows: Rows,
  taskId: string,
  last_processed_event_id: string,
  epoch: number,
): Promise<void> {
  const change = ({ keys, data }: Row) => ({ keys, data: { ...data, last_processed_event_id } });
  await changeRow(rows, 'trackers', taskId, change, { epoch });
}

export function trackerService(rows: Rows): TrackerService {
  return {
    async get(id) {
      const row = await rows.get('trackers', id);
      if (row === undefined) throw notFoundError('tracker', id);
      return toTracker(row);
    },
    list: (query) => listOfTasks(rows, 'trackers', toTracker, query),
    async update(id, body) {
      const changes = Object.fromEntries(
        Object.entries(body).filter(([, value]) => value !== undefined),
      ) as Partial<Fields>;
      const { row } = await changeRow(rows, 'trackers', id, ({ keys, data }) => ({
        keys,
        data: { ...data, ...changes },
      }));
      return toTracker(row);
    },
  };
}

function toTracker({ id, keys, data, createdAt, updatedAt }: Row): Tracker {
  const { status, status_reason, last_processed_event_id } = data as unknown as Fields;
  return {
    ...{ id, agent_id: keys['agent_id'] ?? '', task_id: keys['task_id'] ?? '' },
    ...{ status, status_reason, last_processed_event_id },
    ...{ created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) },
  };
}

export function spanService(rows: Rows, makeId: () => string): SpanService {
  return {
    async create(body, owner) {
      const span = newSpan(body.id ?? makeId(), body);
      assertIds(span);
      const row = { id: span.id, ...rowContent(span, owner) };
      return rows.put('spans', row, { ifVersion: 0 }).then(toSpanInfo, (error) => {
        throw fromRowsError(error);
      });
    },
    async get(id) {
      const row = await rows.get('spans', id);
      if (row === undefined) throw notFoundError('span', id);
      return toSpanInfo(row);
    },
    async ownerOf(id) {
      const row = await rows.get('spans', id);
      return row && ownerOf(row);
    },
    list: ({ traceId, taskId, ...page }) =>
      listRows(
        rows,
        { table: 'spans', where: { trace_id: traceId, task_id: taskId }, toItem: toSpanInfo },
        page,
      ),
    async update(id, body) {
      const changes = Object.fromEntries(
        Object.entries(body).filter(([, value]) => value !== undefined && value !== null),
      );
      const { row } = await changeRow(rows, 'spans', id, (before) => {
        const span = { ...toSpanInfo(before), ...changes };
        assertIds(span);
        return rowContent(span, ownerOf(before));
      });
      return toSpanInfo(row);
    },
  };
}

function newSpan(id: string, body: CreateSpan): SpanInfo {
  const { trace_id, name, start_time } = body;
  return {
    ...{ id, trace_id, name, start_time },
    ...{ end_time: body.end_time ?? null, task_id: body.task_id ?? null },
    ...{ parent_id: body.parent_id ?? null, input: body.input ?? null },
    ...{ output: body.output ?? null, data: body.data ?? null },
  };
}

function assertIds({ id, trace_id, task_id }: SpanInfo): void {
  const areIds = [id, trace_id, task_id ?? id].every(isId);
  if (!areIds)
    throw new ServerError(
      'invalid',
      'Cannot store the span: its ids must have printable characters only',
    );
}

function rowContent({ id: _, ...span }: SpanInfo, owner?: string): Pick<Row, 'keys' | 'data'> {
  const { trace_id, task_id } = span;
  const data = { ...span, ...(owner !== undefined && { owner }) } as JsonObject;
  return { keys: { trace_id, ...(task_id !== null && { task_id }) }, data };
}

/** Returns the agent that created a span. Clients do not see it. */
function ownerOf({ data }: Pick<Row, 'data'>): string | undefined {
  const { owner } = data as { readonly owner?: unknown };
  return typeof owner === 'string' ? owner : undefined;
}

function toSpanInfo({ id, data }: Row): SpanInfo {
  const { owner: _, ...span } = data as unknown as Omit<SpanInfo, 'id'> & { owner?: string };
  return { id, ...span };
}
