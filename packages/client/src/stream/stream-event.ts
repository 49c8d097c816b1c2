import { type Batch, DecodeError, decodeBatch } from '@millrace/core';
import { ClientError } from '../contract/client-error.ts';
import type { Task } from '../contract/server-types.ts';
import type { Connection } from '../contract/task-handle.ts';
import { asObject, asText, isTemporary, parsed } from '../http/refusal.ts';
import type { SseMessage } from './read-sse.ts';

/** The end of a stream, as the server announced it. */
export interface StreamEnd {
  readonly reason: string;
  /** False if the log has a run without an end, and the server reports that no process works on it. */
  readonly isRunLive: boolean;
}

/** An event of a task's stream. */
type StreamEvent =
  | { readonly type: 'batch'; readonly batch: Batch }
  | { readonly type: 'task'; readonly task: Task }
  | ({ readonly type: 'end' } & StreamEnd)
  /** An event of a newer server version. The client ignores it. */
  | { readonly type: 'unknown' };

export function readEvent({ event, data }: SseMessage): StreamEvent {
  switch (event) {
    case undefined:
    case 'message':
      return { type: 'batch', batch: batchOf(data) };
    case 'task_updated':
      return { type: 'task', task: taskOf(data) };
    case 'end': {
      const { reason, is_run_live } = asObject(parsed(data));
      return { type: 'end', reason: asText(reason) ?? 'over', isRunLive: is_run_live !== false };
    }
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

/** Receives the events of a stream and folds them. */
export interface StreamTarget {
  /** The offset of the last folded record. 0 at the start. */
  readonly through: number;
  /**
   * Where a stream starts while `through` is 0. `recent`: the target also accepts a batch that starts at the
   * end of an earlier run.
   */
  readonly start: 'first' | 'recent';
  /** True if the last folded run has not ended. */
  readonly isRunOpen: boolean;
  /**
   * Sets the offset of the last record that already exists. The target is catching up until it reaches this
   * offset.
   */
  expect(through: number): void;
  /** Folds a batch. Returns `gap` if the batch does not continue the folded records. */
  add(batch: Batch): 'taken' | 'gap';
  /**
   * The incarnation of the log to which the folded records belong. Undefined if the server sends no
   * incarnation.
   */
  readonly incarnation: string | undefined;
  /** Sets the incarnation of all following records. */
  setIncarnation(incarnation: string): void;
  /**
   * Discards the folded records, because they do not match the server's log. If `why` is given, readers of
   * events get this error, because the log no longer contains the events that they received.
   */
  reset(why?: ClientError): void;
  setTask(task: Task): void;
  setConnection(connection: Connection): void;
  /** Called after all events of one network read. */
  flush(): void | Promise<void>;
}

/** Returns the incarnation that an event id contains: the text after the hyphen. */
export function incarnationIn(id: string | undefined): string | undefined {
  const start = id?.indexOf('-') ?? -1;
  return start < 0 ? undefined : id?.slice(start + 1);
}

/** Returns whether the same error would occur again after a reconnect. */
export function isFinal(error: ClientError): boolean {
  return error.code !== 'bad_answer' && !isTemporary(error);
}

export function lost(cause?: unknown): ClientError {
  const message = 'The stream broke off. It is resumed from where it was';
  return new ClientError('unreachable', message, {}, { cause });
}

/**
 * Returns the error for a stream that ended although the log has a run without an end. The task's row reports
 * a finished task, but the log is more reliable than the row.
 */
export function endedEarly(task: string, reason: string): ClientError {
  const message = `The stream of task ${task} ended (${reason}) during a run. It is opened again`;
  return new ClientError('unreachable', message, { task });
}

/** The end reasons that the server reads from the task's row and not from the log. */
const rowReasons: ReadonlySet<string> = new Set([
  'completed',
  'failed',
  'canceled',
  'terminated',
  'timed_out',
]);

/**
 * Returns whether an end contradicts the log: the task's row reports a finished task, but the log has a run
 * without an end.
 */
export function isEarly({ reason, isRunLive }: StreamEnd, target: StreamTarget): boolean {
  return isRunLive && target.isRunOpen && rowReasons.has(reason);
}

export function silent(): ClientError {
  const message = 'The stream has been silent for too long. It is opened again';
  return new ClientError('silent', message);
}

/** Returns the error for a network change. After it, existing connections no longer work. */
export function networkChanged(): ClientError {
  return new ClientError('unreachable', 'The network was gone. The stream is opened again');
}

export function gapAt(task: string, offset: number): ClientError {
  const message = `Cannot follow task ${task} after offset ${offset}: the events have a gap. They are read again`;
  return new ClientError('bad_answer', message, { task, offset });
}

/** Returns the error for a response that is not an event stream, for example a login page. */
export function notAStream(task: string): ClientError {
  const message = `Cannot follow task ${task}: the answer is no stream of a Millrace server. Check the URL and the proxies`;
  return new ClientError('unreachable', message, { task });
}
