import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '@millrace/core';
import { messagesBackward } from '../openai/response-starts.ts';
import { type A2aContext, findContext, openView, openViews, readTask } from './open-task.ts';
import { invalidParams } from './protocol/a2a-error.ts';
import { countField, historyRange, textField } from './protocol/messages.ts';
import { linkTask } from './protocol/task-parts.ts';
import type { TaskFields, TaskView } from './task-view.ts';

/** Maximum number of sessions that one request reads. A page can therefore be shorter than requested. */
const maxSessions = 100;
/** Number of sessions that are read before the server checks the size of the page. */
const sessionsPerRead = 10;
/** A page ends after this length of its JSON. It can therefore be shorter than requested. */
const maxLength = 8 * 2 ** 20;
/** Maximum number of sessions that the server counts. */
const maxCounted = 1000;

interface ListQuery extends TaskFields {
  readonly contextId: string | undefined;
  readonly status: string | undefined;
  readonly after: number | undefined;
  readonly pageSize: number;
  readonly pageToken: string | undefined;
}

interface ListedPage {
  readonly tasks: readonly ListedTask[];
  readonly next: string;
  readonly total: number;
}

/** A task as JSON. */
interface ListedTask {
  readonly at: number;
  readonly json: JsonObject;
}

/** The tasks of a page. They have a limited size. */
class TaskPage {
  readonly tasks: ListedTask[] = [];
  readonly #query: ListQuery;
  readonly #base: string;
  #length = 0;

  constructor(query: ListQuery, { base }: A2aContext) {
    this.#query = query;
    this.#base = base;
  }

  get isFull(): boolean {
    return this.tasks.length >= this.#query.pageSize || this.#length >= maxLength;
  }

  add(view: TaskView): void {
    if (!isListed(view, this.#query)) return;
    const json = linkTask(view.task(this.#query), this.#base);
    this.#length += JSON.stringify(json).length;
    this.tasks.push({ at: view.at, json });
  }
}

/**
 * Lists the tasks of an agent, the last changed ones first. With a context, the list has all tasks of the
 * context. Without one, it has the newest task of each session.
 */
export async function listTasks(params: JsonObject, context: A2aContext): Promise<JsonObject> {
  const query = readQuery(params);
  const { contextId } = query;
  const read = () =>
    contextId === undefined
      ? newestTasks(query, context)
      : tasksOfContext(contextId, query, context);
  const page = await context.inTurn(read, 'refuse');
  return {
    tasks: page.tasks.toSorted((a, b) => b.at - a.at).map(({ json }) => json),
    nextPageToken: page.next,
    pageSize: query.pageSize,
    totalSize: page.total,
  };
}

function readQuery(params: JsonObject): ListQuery {
  const given = textField(params, 'statusTimestampAfter');
  const after = given === undefined ? undefined : Date.parse(given);
  if (Number.isNaN(after)) throw invalidParams('Cannot read statusTimestampAfter: it is no time');
  const status = textField(params, 'status');
  if (status !== undefined && !/^TASK_STATE_[A-Z_]+$/.test(status))
    throw invalidParams('Cannot read status: it is not a state such as TASK_STATE_WORKING');
  return {
    ...{ after, contextId: textField(params, 'contextId') },
    status: status === 'TASK_STATE_UNSPECIFIED' ? undefined : status,
    pageSize: countField(params, 'pageSize', [1, 100]) ?? 50,
    pageToken: textField(params, 'pageToken'),
    historyLength: countField(params, 'historyLength', historyRange),
    hasArtifacts: [true, 'true'].includes(params['includeArtifacts'] as never),
  };
}

function isListed(view: TaskView, { status, after }: ListQuery): boolean {
  return (
    (status === undefined || view.state === status) && (after === undefined || view.at >= after)
  );
}

/** Reads the newest task of each session. The cursor of the sessions is the token of the next page. */
async function newestTasks(query: ListQuery, context: A2aContext): Promise<ListedPage> {
  const { service, agent, log } = context;
  const found = new TaskPage(query, context);
  const list = (limit: number, cursor?: string) =>
    service.tasks.list({
      ...{ limit, pageNumber: 1, orderBy: 'updated_at', direction: 'desc', cursor },
      agentId: agent.id,
    });
  let next: string | null = query.pageToken ?? null;
  let read = 0;
  do {
    const most = Math.min(sessionsPerRead, query.pageSize - found.tasks.length);
    const page = await list(most, next ?? undefined);
    for (const { id, ...session } of page.data) {
      const [offset] = await firstOf(messagesBackward(id, log), 1);
      if (offset === undefined) continue;
      const task = await readTask(
        { taskId: id, offset },
        { ...session, id, params: null },
        context,
      );
      found.add((await openView(task, context)).view);
      await nextTurn();
    }
    next = page.next;
    read += page.data.length;
  } while (next !== null && !found.isFull && read < maxSessions);
  const { data } = await list(maxCounted);
  const { tasks } = found;
  const total = (query.status ?? query.after) ? tasks.length : data.length;
  return { tasks, next: next ?? '', total };
}

/** Reads the tasks of one session. The offset of the last one is the token of the next page. */
async function tasksOfContext(
  contextId: string,
  query: ListQuery,
  context: A2aContext,
): Promise<ListedPage> {
  const { pageToken: token, pageSize } = query;
  if (token !== undefined && !/^\d{1,15}$/.test(token))
    throw invalidParams('Cannot read pageToken: it belongs to another list');
  const session = await findContext(contextId, context);
  if (session === undefined) return { tasks: [], next: '', total: 0 };
  const through = token === undefined ? undefined : Number(token) - 1;
  const offsets = await firstOf(messagesBackward(session.id, context.log, through), maxSessions);
  const found = new TaskPage(query, context);
  let at = 0;
  // With a filter, all tasks are candidates for the page.
  const hasFilter = query.status !== undefined || query.after !== undefined;
  const tasks = [];
  for (const offset of hasFilter ? offsets : offsets.slice(0, pageSize))
    tasks.push(await readTask({ taskId: session.id, offset }, session, context));
  for (const view of await openViews(tasks, context)) {
    if (found.isFull) break;
    found.add(view);
    at++;
  }
  const isMore = at < offsets.length || offsets.length === maxSessions;
  const next = isMore ? String(offsets[at - 1]) : '';
  return { tasks: found.tasks, next, total: offsets.length };
}

async function firstOf<T>(values: AsyncIterable<T>, most: number): Promise<readonly T[]> {
  const first: T[] = [];
  for await (const value of values) {
    first.push(value);
    if (first.length >= most) break;
  }
  return first;
}
