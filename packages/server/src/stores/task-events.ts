import { type LogRecord, sessionId } from '@millrace/core';
import { type Log, LogError } from '@millrace/log';
import { ServerError } from '../contract/server-error.ts';
import type { EventService } from '../contract/service.ts';
import type { TaskEvent } from '../contract/task.ts';
import type { QueuedCommand } from '../journal/journal-state.ts';
import { isoTime, notFoundError } from './row-access.ts';
import type { TaskStore } from './task-store.ts';

/** Creates the service for events. `assertTask` throws if the agent has no task with this id. */
export function eventService(
  log: Log,
  tasks: TaskStore,
  assertTask: (taskId: string, agentId: string) => Promise<void>,
): EventService {
  return {
    async get(id) {
      const location = parseEventId(id);
      const stored = location && (await tasks.find({ id: location.taskId }));
      if (location === undefined || stored === undefined) throw notFoundError('event', id);
      return readEvent(log, stored.agentId, location);
    },
    async list(query) {
      await assertTask(query.taskId, query.agentId);
      return listEvents(log, query);
    },
  };
}

/** The position of an event on the log. The event's id contains it, so no index is needed. */
interface EventLocation {
  readonly taskId: string;
  readonly offset: number;
}

function eventId({ taskId, offset }: EventLocation): string {
  return `${taskId}.${offset}`;
}

function parseEventId(id: string): EventLocation | undefined {
  const [, taskId, offset] = /^(.+)\.([1-9]\d{0,15})$/s.exec(id) ?? [];
  if (taskId === undefined) return undefined;
  return { taskId, offset: Number(offset) };
}

/** Converts a command to an event. Returns undefined if the command is not an event. */
export function eventOf(
  taskId: string,
  agentId: string,
  { command, offset, time }: Pick<QueuedCommand, 'command' | 'offset' | 'time'>,
): TaskEvent | undefined {
  const { type, event } = command;
  const content = type === 'event' ? command['content'] : event;
  if (content === undefined) return undefined;
  return {
    ...{ id: eventId({ taskId, offset }), task_id: taskId, agent_id: agentId },
    ...{ sequence_id: offset, created_at: isoTime(time) },
    content: content as TaskEvent['content'],
  };
}

export async function readEvent(
  log: Log,
  agentId: string,
  location: EventLocation,
): Promise<TaskEvent> {
  const { taskId, offset } = location;
  const { records } = await log
    .read(sessionId(taskId), { from: offset - 1, maxBytes: 1 })
    .catch(emptyPage);
  const record = records.find((one) => one.offset === offset);
  const event = record && recordToEvent(taskId, agentId, record);
  if (event === undefined) throw notFoundError('event', eventId(location));
  return event;
}

interface EventRange {
  readonly taskId: string;
  readonly agentId: string;
  /** The list starts after the event with this id. Default: the list starts with the first event. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

const maxEvents = 1000;

/** Lists events in the order in which they were sent. */
export async function listEvents(
  log: Log,
  { taskId, agentId, after, limit = maxEvents }: EventRange,
): Promise<readonly TaskEvent[]> {
  const found: TaskEvent[] = [];
  const max = Math.min(limit, maxEvents);
  let from = after === undefined ? 0 : cursorOf(taskId, after);
  while (found.length < max) {
    const page = await log.read(sessionId(taskId), { from }).catch(emptyPage);
    if (page.through <= from) break;
    from = page.through;
    found.push(...page.records.flatMap((record) => recordToEvent(taskId, agentId, record) ?? []));
  }
  return found.slice(0, max);
}

function recordToEvent(taskId: string, agentId: string, record: LogRecord): TaskEvent | undefined {
  const { fact, offset, time } = record;
  if (fact?.type !== 'command_queued') return undefined;
  return eventOf(taskId, agentId, { command: fact.command, offset, time });
}

function cursorOf(taskId: string, id: string): number {
  const location = parseEventId(id);
  if (location?.taskId === taskId) return location.offset;
  const message = `Cannot list the events of task ${taskId} after this cursor: it is not an event of this task`;
  throw new ServerError('invalid', message, { task: taskId });
}

/**
 * Returns an empty page if the session does not exist yet, or if the offset is after its end. Throws all
 * other errors again.
 */
function emptyPage(error: unknown): { readonly records: []; readonly through: 0 } {
  const isMissing =
    error instanceof LogError && (error.code === 'no_session' || error.code === 'bad_offset');
  if (isMissing) return { records: [], through: 0 };
  throw error;
}
