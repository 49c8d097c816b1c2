import { createHash } from 'node:crypto';
import { type Ids, type JsonObject, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { CreateTask, UpdateTask } from '../contract/request-bodies.ts';
import type { PutOptions, Row, Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage, Ref, TaskQuery } from '../contract/service.ts';
import type { Task, TaskPlace, TaskStatus } from '../contract/task.ts';
import { ensureSession } from '../journal/session-lease.ts';
import {
  changeRow,
  fromRowsError,
  isConflict,
  isoTime,
  listRows,
  notFoundError,
} from './row-access.ts';
import { hasFields } from './same-json.ts';

/** A task with the id of its agent and the user who owns it. */
export interface StoredTask {
  readonly task: Task;
  readonly agentId: string;
  /** The user who owns the task. Undefined if no user of an application created it. */
  readonly owner: string | undefined;
  /** True if a run has set the status. False if a request has set it. */
  readonly isStatusOfRun: boolean;
}

/** Options of a new task. */
interface NewTaskOptions {
  readonly key?: string | undefined;
  readonly owner?: string | undefined;
}

/** The result of `create`. `origin` tells whether the task is new, or was found by its key or its name. */
interface CreatedTask extends StoredTask {
  readonly origin: 'new' | 'key' | 'name';
}

type Fields = Omit<Task, 'id' | 'created_at' | 'updated_at'>;

/** The epoch of the run that set the status. Null if a request set the status. */
type StatusEpoch = number | null;

/** Statuses that a run sets at its end. A later run of the task replaces them. */
const runStatuses: ReadonlySet<TaskStatus | null> = new Set<TaskStatus>(['FAILED', 'INTERRUPTED']);

interface TaskStoreOptions {
  readonly rows: Rows;
  readonly log: Log;
  readonly ids: Ids;
  /** Called after the row of a task has changed. */
  readonly onChange: (task: Task) => void;
}

/** Stores tasks in the row store and reports their changes. */
export class TaskStore {
  readonly #rows: Rows;
  readonly #log: Log;
  readonly #ids: Ids;
  readonly #onChange: (task: Task) => void;

  constructor({ rows, log, ids, onChange }: TaskStoreOptions) {
    this.#rows = rows;
    this.#log = log;
    this.#ids = ids;
    this.#onChange = onChange;
  }

  /**
   * Returns the task with this name, even if it was deleted, or the task with this key. If neither exists, it
   * creates a task. The name has precedence: a caller with access to only the named task then cannot reach a
   * different task through a key.
   */
  async create(
    agentId: string,
    { name = null, params = null, task_metadata = null }: CreateTask,
    { key, owner }: NewTaskOptions = {},
  ): Promise<CreatedTask> {
    assertLength('task_metadata', task_metadata);
    assertLength('params', params);
    const id = key === undefined ? this.#ids.session() : keyedTaskId(agentId, key, owner);
    const findKnown = async (): Promise<CreatedTask | undefined> => {
      const named = name === null ? undefined : await this.#findByName(name);
      if (named !== undefined && named.id !== id)
        return this.#reuse({ agentId, owner }, named, params);
      return key === undefined ? undefined : this.#findByKey(id);
    };
    const known = await findKnown();
    if (known !== undefined) return known;
    const fields: Fields = {
      ...{ name, params, task_metadata, cleaned_at: null },
      ...{ status: 'RUNNING', status_reason: 'Task created' },
    };
    try {
      return {
        ...storedTask(await this.#insert(id, rowContent({ agentId, owner }, fields))),
        origin: 'new',
      };
    } catch (error) {
      if (!isConflict(error)) throw fromRowsError(error);
      // A concurrent request with the same key or name has created the task first.
      const concurrent = await findKnown();
      if (concurrent === undefined) throw fromRowsError(error);
      return concurrent;
    }
  }

  /** Creates a task for an existing session. */
  async adopt(
    of: Pick<StoredTask, 'agentId' | 'owner'>,
    id: string,
    { params, task_metadata }: Pick<Task, 'params' | 'task_metadata'>,
    reason = 'Task forked',
  ): Promise<Task> {
    const fields: Fields = {
      ...{ name: null, params, task_metadata, cleaned_at: null },
      ...{ status: 'RUNNING', status_reason: reason },
    };
    const row = { id, ...rowContent(of, fields) };
    return storedTask(await this.#rows.put('tasks', row, { ifVersion: 0 })).task;
  }

  /** Returns a task. Returns undefined if the task does not exist or was deleted. */
  async find(ref: Ref): Promise<StoredTask | undefined> {
    const row =
      'id' in ref ? await this.#rows.get('tasks', ref.id) : await this.#findByName(ref.name);
    const stored = row && storedTask(row);
    return stored?.task.status === 'DELETED' ? undefined : stored;
  }

  async get(ref: Ref): Promise<StoredTask> {
    const stored = await this.find(ref);
    if (stored === undefined) throw notFoundError('task', 'id' in ref ? ref.id : ref.name);
    return stored;
  }

  list(query: TaskQuery): Promise<ListPage<StoredTask>> {
    const { agentId, owner, status, place, metadata, search, ...page } = query;
    // A deleted task has no `place` key, so a query by place needs no further condition.
    const shownFilter = place === undefined ? { is_shown: 'yes' } : { place };
    const statusFilter = status === undefined ? shownFilter : { status, place };
    const ownerFilter = owner === undefined ? {} : { owner: ownerKey(owner) };
    const isFound = search === undefined ? undefined : taskSearch(search);
    const matches = (row: Row) =>
      (metadata === undefined ||
        hasFields((row.data['task_metadata'] ?? {}) as JsonObject, metadata)) &&
      (isFound === undefined || isFound(storedTask(row).task));
    return listRows(
      this.#rows,
      {
        table: 'tasks',
        // The store uses the index of the first key. The owner comes first, because it selects the fewest
        // tasks.
        where: { ...ownerFilter, agent_id: agentId, ...statusFilter },
        matches: metadata === undefined && search === undefined ? undefined : matches,
        toItem: storedTask,
        // A list of tasks does not contain their params.
        shown: ({ data: { params: _, ...data } }) => data,
        maxLength: maxListLength,
      },
      page,
    );
  }

  update(id: string, { task_metadata, merge_params, merge_metadata }: UpdateTask): Promise<Task> {
    const change = (task: Task) => {
      const metadata = task_metadata ?? task.task_metadata;
      const changes = {
        ...(task_metadata != null && { task_metadata }),
        ...(merge_metadata != null && { task_metadata: merged(metadata, merge_metadata) }),
        ...(merge_params != null && { params: { ...task.params, ...merge_params } }),
      };
      assertLength('task_metadata', changes.task_metadata, task.task_metadata);
      assertLength('params', changes.params, task.params);
      return changes;
    };
    const keepUpdatedAt = task_metadata == null && merge_params == null;
    return this.#change(id, change, { keepUpdatedAt });
  }

  /**
   * Sets the status to the result of `next`. If `next` returns undefined, the status stays the same. A change
   * by a run must have the run's epoch. It has no effect if a later run has claimed the task.
   */
  setStatus(
    id: string,
    next: (status: TaskStatus) => TaskStatus | undefined,
    reason: string | null,
    epoch?: number,
  ): Promise<Task> {
    return this.#change(id, statusChange(next, reason), { epoch });
  }

  /**
   * Sets the status for new input to the task, as `setStatus` does. It also sets `updated_at`, so that lists
   * show the tasks with the newest input first.
   */
  async acceptInput(
    id: string,
    next: (status: TaskStatus) => TaskStatus | undefined,
  ): Promise<Task> {
    const { task, isChanged } = await this.#tryChange(id, statusChange(next, null));
    return isChanged ? task : ((await this.#touch(id)) ?? task);
  }

  /**
   * Sets `updated_at` to the current time. Errors are ignored, because the time only changes the order of
   * lists. If another request changes the row at the same time, that change has the same time.
   */
  async #touch(id: string): Promise<Task | undefined> {
    try {
      const row = await this.#rows.get('tasks', id);
      if (row === undefined) return undefined;
      const { keys, data, version: ifVersion } = row;
      const { task } = storedTask(await this.#rows.put('tasks', { id, keys, data }, { ifVersion }));
      this.#onChange(task);
      return task;
    } catch {
      return undefined;
    }
  }

  /**
   * Sets the status after a run that never had the lease and therefore has no epoch. It has no effect while a
   * different run has the lease, or if the session has no open work. It writes with the epoch of the last
   * claim, so a later run can replace the status.
   */
  async setStatusWithoutLease(
    id: string,
    next: (status: TaskStatus) => TaskStatus | undefined,
    reason: string | null,
  ): Promise<void> {
    const row = await this.#rows.get('tasks', id);
    // The row must be read before the log. A run that acquires the lease after this line has a higher epoch
    // than the row. The change below then does not overwrite the status of that run.
    const info = await this.#log.info(sessionId(id));
    if (info?.lease !== undefined || info?.hasWork === false) return;
    await this.setStatus(id, next, reason, row?.epoch);
  }

  /**
   * Claims the task for the run with this epoch. Call it after the run has acquired the lease. With
   * `isRunning`, the status becomes RUNNING again if an earlier run has just changed it.
   */
  async claim(id: string, epoch: number, { isRunning }: { readonly isRunning: boolean }) {
    const found = await this.#rows.claim('tasks', id, epoch);
    if (found === undefined) return;
    const row = found.epoch > epoch ? await this.#claimAgain(found, epoch) : found;
    const isStale = (of: Row) => statusEpoch(of) !== null && statusEpoch(of) !== epoch;
    if (row?.epoch !== epoch || !isRunning || !isStale(row)) return;
    const change = ({ status }: Task, before: Row) =>
      runStatuses.has(status) && isStale(before)
        ? ({ status: 'RUNNING', status_reason: null } as const)
        : undefined;
    await this.#change(id, change, { epoch });
  }

  /**
   * Tries to claim a row that has a higher epoch. If a later run has claimed the task, it returns undefined.
   * If an older copy has replaced the log, its epochs are lower, and this run may claim the row.
   */
  async #claimAgain({ id, epoch: replacing }: Row, epoch: number): Promise<Row | undefined> {
    const info = await this.#log.info(sessionId(id));
    if (info?.epoch !== epoch) return undefined;
    return this.#rows.claim('tasks', id, epoch, { replacing });
  }

  /**
   * Inserts the row of a task. It creates the session first, so clients can stream every stored task, even
   * one without messages.
   */
  async #insert(session: SessionId, content: Pick<Row, 'keys' | 'data'>): Promise<Row> {
    await ensureSession(this.#log, session);
    try {
      return await this.#rows.put('tasks', { id: session, ...content }, { ifVersion: 0 });
    } catch (error) {
      // If a row exists, a concurrent request created it, and the session belongs to that task.
      if ((await this.#rows.get('tasks', session)) === undefined)
        await this.#log.delete(session, { ifThrough: 0 });
      throw error;
    }
  }

  /**
   * Returns the task that was created with a key. Throws `not_found` if that task was deleted: the key must
   * neither create a second task nor return the deleted one.
   */
  async #findByKey(id: SessionId): Promise<CreatedTask | undefined> {
    const row = await this.#rows.get('tasks', id);
    const stored = row && storedTask(row);
    if (stored?.task.status === 'DELETED') throw notFoundError('task', id);
    return stored && { ...stored, origin: 'key' };
  }

  async #change(
    id: string,
    change: (task: Task, row: Row) => Partial<Fields> | undefined,
    options: Omit<PutOptions, 'ifVersion'> = {},
  ): Promise<Task> {
    return (await this.#tryChange(id, change, options)).task;
  }

  async #tryChange(
    id: string,
    change: (task: Task, row: Row) => Partial<Fields> | undefined,
    options: Omit<PutOptions, 'ifVersion'> = {},
  ): Promise<{ readonly task: Task; readonly isChanged: boolean }> {
    const { epoch } = options;
    const changeContent = (before: Row) => {
      const { task, ...of } = storedTask(before);
      const changed = change(task, before);
      if (changed === undefined || isSame(task, changed)) return undefined;
      // The change may have been decided before another request closed the task.
      if (!mayBecome(task.status, changed.status ?? task.status)) return undefined;
      const { id: _, created_at, updated_at, ...fields } = task;
      const setBy = changed.status === undefined ? statusEpoch(before) : (epoch ?? null);
      return rowContent(of, { ...fields, ...changed }, setBy);
    };
    const { row, isChanged } = await changeRow(this.#rows, 'tasks', id, changeContent, options);
    const { task } = storedTask(row);
    if (isChanged) this.#onChange(task);
    return { task, isChanged };
  }

  async #findByName(name: string): Promise<Row | undefined> {
    const [row] = await this.#rows.list('tasks', { where: { name }, limit: 1 });
    return row;
  }

  async #reuse(
    { agentId, owner }: Pick<StoredTask, 'agentId' | 'owner'>,
    row: Row,
    params: CreateTask['params'],
  ): Promise<CreatedTask> {
    const stored = storedTask(row);
    // If `owner` is undefined, the caller may use the tasks of all users.
    const isOthers = owner !== undefined && stored.owner !== owner;
    if (stored.agentId !== agentId || isOthers) throw nameTaken();
    if (stored.task.status !== 'DELETED') await ensureSession(this.#log, sessionId(row.id));
    const task = params == null ? stored.task : await this.#change(row.id, () => ({ params }));
    return { ...stored, task, origin: 'name' };
  }
}

/** A task with one of these statuses accepts no more input. */
const closedStatuses: readonly TaskStatus[] = ['CANCELED', 'TERMINATED', 'DELETED'];

/** Returns true if a task with this status accepts no more input. */
export function isClosed(status: TaskStatus): boolean {
  return closedStatuses.includes(status);
}

/** Returns false if a task would leave the status in which it was closed. A closed task can only be deleted. */
function mayBecome(now: TaskStatus | null, next: TaskStatus | null): boolean {
  return now === null || !isClosed(now) || next === now || next === 'DELETED';
}

/** Returns the change that sets the status to the result of `next`. */
function statusChange(
  next: (status: TaskStatus) => TaskStatus | undefined,
  reason: string | null,
): (task: Task) => Partial<Fields> | undefined {
  return (task) => {
    const status = next(task.status ?? 'RUNNING');
    return status === undefined ? undefined : { status, status_reason: reason };
  };
}

/**
 * Returns the id of the task for a key. The id is derived from the key, so two processes cannot create two
 * tasks for the same key. Different users can use the same key.
 */
export function keyedTaskId(agentId: string, key: string, owner: string | undefined): SessionId {
  const parts = owner === undefined ? [agentId, key] : [agentId, key, owner];
  const hash = createHash('sha256').update(JSON.stringify(parts));
  return sessionId(hash.digest('hex').slice(0, 32));
}

/**
 * Returns the row key for an owner. It is a hash, because a row key allows only short texts of printable
 * characters, and a user name can be longer.
 */
function ownerKey(owner: string): string {
  return createHash('sha256').update(owner).digest('hex');
}

function rowContent(
  { agentId, owner }: Pick<StoredTask, 'agentId' | 'owner'>,
  fields: Fields,
  status_epoch: StatusEpoch = null,
): Pick<Row, 'keys' | 'data'> {
  const { name, status } = fields;
  const keys = {
    agent_id: agentId,
    status: status ?? 'RUNNING',
    ...(name !== null && { name }),
    ...(status !== 'DELETED' && { is_shown: 'yes', place: placeOf(fields) }),
    ...(owner !== undefined && { owner: ownerKey(owner) }),
  };
  const owned = owner === undefined ? {} : { owner };
  const data = { ...fields, agent_id: agentId, status_epoch, ...owned };
  return { keys, data: data as JsonObject };
}

/** Returns the part of the session list that contains a task. See `TaskPlace`. */
export function placeOf({ task_metadata }: Pick<Task, 'task_metadata'>): TaskPlace {
  const { archived, pinned, folder } = task_metadata ?? {};
  if (archived === true) return 'archived';
  const isInFolder = typeof folder === 'string' && folder !== '';
  return pinned === true || isInFolder ? 'kept' : 'recent';
}

/** Maximum lengths of the fields of a task, in characters of JSON. Each list of tasks contains the metadata. */
const maxLengths = { task_metadata: 64 * 2 ** 10, params: 256 * 2 ** 10 };
/**
 * Maximum length of a page of tasks, in characters of JSON. The page in the browser and the client library read
 * at most 8 Mi characters, and each task of a list also has its agents.
 */
const maxListLength = 4 * 2 ** 20;
/** The number of characters by which a request can enlarge a field that is already too long. */
const allowedGrowth = 1024;

/**
 * Throws `too_large` if the field is too long. A field that an older release stored can be longer. A small
 * change of such a field is accepted, for example to archive the task.
 */
function assertLength(
  name: keyof typeof maxLengths,
  value: JsonObject | null | undefined,
  before: JsonObject | null = null,
): void {
  if (value == null) return;
  const { length } = JSON.stringify(value);
  const max = maxLengths[name];
  if (length <= max) return;
  const stored = JSON.stringify(before).length;
  if (stored > max && length <= stored + allowedGrowth) return;
  const message = `Cannot store the task: its ${name} has over ${max} characters of JSON. Store large values in a state or a file of the task`;
  throw new ServerError('too_large', message, { field: name });
}

/** Sets fields of the metadata. A value of null removes the field. */
function merged(metadata: JsonObject | null, changes: JsonObject): JsonObject {
  const fields = Object.entries({ ...metadata, ...changes });
  return Object.fromEntries(fields.filter(([key]) => changes[key] !== null));
}

function statusEpoch({ data }: Row): StatusEpoch {
  const { status_epoch } = data;
  return typeof status_epoch === 'number' ? status_epoch : null;
}

interface StoredFields extends Fields {
  readonly agent_id: string;
  /** The user who owns the task. Missing if the task has no owner. */
  readonly owner?: string;
  /** The epoch of the run that set the status. Rows of older versions do not have it. */
  readonly status_epoch?: StatusEpoch;
}

/** Converts a row to a task. */
export function storedTask({ id, createdAt, updatedAt, data }: Row): StoredTask {
  const { agent_id, owner, status_epoch, ...fields } = data as unknown as StoredFields;
  const times = { created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) };
  const isStatusOfRun = typeof status_epoch === 'number';
  return { task: { id, ...fields, ...times }, agentId: agent_id, owner, isStatusOfRun };
}

function isSame(task: Task, changed: Partial<Fields>): boolean {
  return Object.entries(changed).every(
    ([key, value]) => JSON.stringify(task[key as keyof Task]) === JSON.stringify(value),
  );
}

/**
 * Returns the error for a name that is already in use. It does not contain the task's id, because the caller
 * may not have access to that task.
 */
function nameTaken(): ServerError {
  const message = 'Cannot use this name: another task has it. Choose another name';
  return new ServerError('conflict', message);
}

type NamedTask = Pick<Task, 'id' | 'name' | 'task_metadata'>;

/**
 * Returns a function that finds tasks whose title, name or id contains the text. The case of letters does not
 * matter. An empty text finds every task.
 */
export function taskSearch(text: string): (task: NamedTask) => boolean {
  const needle = text.toLowerCase();
  return ({ id, name, task_metadata }) =>
    [task_metadata?.['title'], name, id].some(
      (field) => typeof field === 'string' && field.toLowerCase().includes(needle),
    );
}
