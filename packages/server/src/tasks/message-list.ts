import type { JsonValue } from '@millrace/core';
import type { TaskMessage } from '../contract/message.ts';
import type { MessageFilter } from '../contract/request-bodies.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage } from '../contract/service.ts';
import { PageWeight } from './page-weight.ts';

/** Those that one of the filters asks for, where any does, without those that one excludes. */
export function filterMessages(
  messages: readonly TaskMessage[],
  filters: readonly MessageFilter[],
): readonly TaskMessage[] {
  const wanted = filters.filter(({ exclude }) => !exclude);
  const unwanted = filters.filter(({ exclude }) => exclude);
  return messages.filter(
    (message) =>
      (wanted.length === 0 || wanted.some((filter) => fits(message, filter))) &&
      !unwanted.some((filter) => fits(message, filter)),
  );
}

function fits(message: TaskMessage, { content, streaming_status }: MessageFilter): boolean {
  if (streaming_status != null && message.streaming_status !== streaming_status) return false;
  if (content == null) return true;
  const has = message.content as Readonly<Record<string, JsonValue>>;
  return Object.entries(content).every(([key, value]) => isEqual(has[key], value));
}

function isEqual(a: JsonValue | undefined, b: JsonValue): boolean {
  return a === b || (a !== undefined && JSON.stringify(a) === JSON.stringify(b));
}

export interface MessageSlice {
  readonly limit: number;
  readonly direction: 'older' | 'newer';
  readonly cursor?: string | undefined;
  /** How many to leave out first, where there is no cursor. */
  readonly skip?: number | undefined;
}

/** A stretch of messages that are given oldest first; `older` goes back from the newest. */
export function sliceMessages(
  messages: readonly TaskMessage[],
  { limit, direction, cursor, skip = 0 }: MessageSlice,
): ListPage<TaskMessage> {
  const inOrder = direction === 'older' ? messages.toReversed() : messages;
  const start = cursor === undefined ? skip : startAfter(inOrder, cursor, direction);
  const data = inOrder.slice(start, start + limit);
  const weight = new PageWeight();
  for (const message of data) weight.add(message.content);
  const last = data.at(-1);
  const hasMore = start + limit < inOrder.length;
  return { data, next: hasMore && last !== undefined ? cursorOf(last) : null };
}

/** The time goes with it, because the message may be gone when it is asked for again. */
function cursorOf({ id, created_at }: TaskMessage): string {
  return Buffer.from(`${created_at} ${id}`).toString('base64url');
}

function startAfter(
  inOrder: readonly TaskMessage[],
  cursor: string,
  direction: MessageSlice['direction'],
): number {
  const [, time, id] = /^(\S+) (.+)$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (time === undefined || Number.isNaN(Date.parse(time))) throw noCursor();
  const place = inOrder.findIndex((message) => message.id === id);
  if (place >= 0) return place + 1;
  const isAfter = ({ created_at }: TaskMessage) =>
    direction === 'older' ? (created_at ?? '') < time : (created_at ?? '') > time;
  const next = inOrder.findIndex(isAfter);
  return next < 0 ? inOrder.length : next;
}

function noCursor(): ServerError {
  const message = 'Cannot go on from this cursor: it is none that a list gave. Start without one';
  return new ServerError('invalid', message);
}
