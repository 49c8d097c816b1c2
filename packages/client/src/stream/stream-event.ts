import { type Batch, DecodeError, decodeBatch } from '@millrace/core';
import type { EventSourceMessage } from 'eventsource-parser';
import { ClientError } from '../client-error.ts';
import { asObject, asText, parsed } from '../http/refusal.ts';
import type { Task } from '../wire/task.ts';

/** What the stream of a task tells. */
export type StreamEvent =
  | { readonly type: 'batch'; readonly batch: Batch }
  | { readonly type: 'task'; readonly task: Task }
  | { readonly type: 'end'; readonly reason: string }
  /** Of a later server: not ours to understand. */
  | { readonly type: 'unknown' };

export function readEvent({ event, data }: EventSourceMessage): StreamEvent {
  switch (event) {
    case undefined:
    case 'message':
      return { type: 'batch', batch: batchOf(data) };
    case 'task_updated':
      return { type: 'task', task: taskOf(data) };
    case 'end':
      return { type: 'end', reason: asText(asObject(parsed(data))['reason']) ?? 'over' };
    default:
      return { type: 'unknown' };
  }
}

function batchOf(data: string): Batch {
  try {
    return decodeBatch(data);
  } catch (error) {
    throw error instanceof DecodeError ? unreadable(error) : error;
  }
}

function unreadable(cause: DecodeError): ClientError {
  const why =
    cause.code === 'unsupported_version'
      ? 'the server is of a later version. Update the client'
      : cause.message;
  return new ClientError('bad_answer', `Cannot read the stream: ${why}`, {}, { cause });
}

function taskOf(data: string): Task {
  const { task } = asObject(parsed(data));
  if (asText(asObject(task)['id']) !== undefined) return task as unknown as Task;
  throw new ClientError(
    'bad_answer',
    'Cannot read the stream: what it says of the task is no task',
  );
}
