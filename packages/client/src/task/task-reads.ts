import { type Attempt, type Batch, DecodeError, decodeBatch } from '@millrace/core';
import { ClientError } from '../contract/client-error.ts';
import type { PastRequest, SpanInfo, TaskDigest, TaskOutline } from '../contract/server-types.ts';
import type { Cancelable } from '../contract/task-handle.ts';
import type { Http } from '../http/http.ts';
import { errorOf } from '../http/refusal.ts';

/** Maximum number of spans to read for a task. */
const maxSpans = 1000;

const pathOf = (id: string) => `/tasks/${encodeURIComponent(id)}`;

/** Returns a page of records after an offset. The records are not merged. */
export async function readRecords(
  http: Http,
  { id, path: taskPath }: { readonly id: string; readonly path: string },
  query: {
    readonly from: number;
    readonly incarnation: string | undefined;
    readonly limit?: number | undefined;
  },
  { signal }: Cancelable,
): Promise<Batch> {
  const what = `read the records of task ${id}`;
  const path = `${taskPath}/records`;
  const response = await http.send({ what, path, query, signal, isSafe: true });
  if (!response.ok) throw await errorOf(response, what);
  const text = await response.text().catch((cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    const message = `Cannot ${what}: the connection broke before the answer was whole`;
    throw new ClientError('unreachable', message, {}, { cause });
  });
  try {
    return decodeBatch(text);
  } catch (error) {
    throw error instanceof DecodeError ? unreadable(what, error) : error;
  }
}

export async function readDigest(http: Http, id: string, options: Cancelable): Promise<TaskDigest> {
  const what = `read what task ${id} came to`;
  const { signal } = options;
  const { value } = await http.json({ what, path: `${pathOf(id)}/digest`, signal, isSafe: true });
  return value as unknown as TaskDigest;
}

export async function readOutline(
  http: Http,
  id: string,
  { signal }: Cancelable,
): Promise<TaskOutline> {
  const what = `read the outline of task ${id}`;
  const { value } = await http.json({ what, path: `${pathOf(id)}/outline`, signal, isSafe: true });
  return value as unknown as TaskOutline;
}

export async function readRequest(
  http: Http,
  id: string,
  { turn, attempt }: Attempt,
  { signal }: Cancelable,
): Promise<PastRequest> {
  const what = `read the request of turn ${turn}, attempt ${attempt} of task ${id}`;
  const path = `${pathOf(id)}/request`;
  const { value } = await http.json({ what, path, query: { turn, attempt }, signal, isSafe: true });
  return value as unknown as PastRequest;
}

/** Returns the spans in the order of their start. */
export async function readSpans(
  http: Http,
  id: string,
  { signal }: Cancelable,
): Promise<readonly SpanInfo[]> {
  const what = `list the spans of task ${id}`;
  const order = { order_by: 'created_at', order_direction: 'asc' };
  const query = { task_id: id, limit: maxSpans, ...order };
  const { value } = await http.json({ what, path: '/spans', query, signal, isSafe: true });
  if (Array.isArray(value)) return value as unknown as readonly SpanInfo[];
  throw new ClientError('bad_answer', `Cannot ${what}: the answer is no list`);
}

function unreadable(what: string, cause: DecodeError): ClientError {
  return new ClientError('bad_answer', `Cannot ${what}: ${cause.message}`, {}, { cause });
}
