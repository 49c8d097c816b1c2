import {
  type Batch,
  encodeBatch,
  type FoldState,
  type Part,
  type SessionId,
  sessionId,
  transcript,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { z } from 'zod';
import {
  divergenceSchema,
  pastRequestSchema,
  sessionDiffSchema,
  taskDigestSchema,
  taskOutlineSchema,
} from '../contract/inspection.ts';
import { branchTaskSchema, commandSchema, forkTaskSchema } from '../contract/request-bodies.ts';
import { ServerError } from '../contract/server-error.ts';
import { recordBatchSchema, streamEventSchema } from '../contract/stream-schemas.ts';
import { taskSchema } from '../contract/task.ts';
import {
  type Route,
  type RouteContext,
  requestMetadata,
  route,
  StreamReply,
} from '../http/route.ts';
import { compareTasks, divergenceOf, originOf } from '../inspection/compare-tasks.ts';
import { digestCacheFor, digestReply } from '../inspection/task-digest.ts';
import { outlineCacheFor, outlineReply } from '../inspection/task-outline.ts';
import { isCursor } from '../stream/frames/cursor.ts';
import {
  hideInstructions,
  shownBatch,
  withoutInstructions,
} from '../stream/hidden-instructions.ts';
import { sendBlob } from './files/file-routes.ts';
import { taskIdParams, taskNameParams } from './route-schemas.ts';

export const streamQuery = z.object({
  view: z.enum(['updates', 'events', 'records', 'ui']).default('updates'),
  /**
   * The `id` of the event after which the stream starts. 0 is the start of the log. The header
   * `last-event-id` takes precedence.
   */
  from: z.string().max(64).optional(),
  /**
   * Where a stream of records without a cursor starts. `recent`: at the start of a recent run of a long log,
   * so that a client can show the end first. The first batch names the offset in `after`. Default: `first`.
   */
  start: z.enum(['first', 'recent']).default('first'),
});

const streamReply = streamEventSchema;

export const eventStreamType = 'text/event-stream';

/** The approximate maximum size of a page in bytes. A page has at least one record. */
const pageBytes = 2 ** 20;

/** The query of a list of records. */
export const recordsQuery = z.object({
  from: z.int().min(0).default(0),
  /**
   * The part after the hyphen in the ids of the stream. If it is missing, a rewound log is not
   * detected.
   */
  incarnation: z
    .string()
    .regex(/^[0-9a-z]{1,32}$/)
    .optional(),
  /** The maximum number of records. Default: as many as fit into about 1 MiB. */
  limit: z.int().min(1).max(10_000).optional(),
});

/** The query of a comparison. */
const diffQuery = z.object({
  /** The task to compare with. It is `a` in the reply. Default: the task that this task is a branch of. */
  other: z.string().min(1).max(256).optional(),
});

const positiveCount = z.coerce.number().int().min(1).max(1_000_000);

/**
 * Routes for the log of a task: stream, commands, fork, branch, diff, blobs, records, digest, outline and past requests.
 */
export const taskLogRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tasks/{task_id}/stream',
    summary: 'Stream a task as server-sent events. A client can disconnect and resume',
    params: taskIdParams,
    query: streamQuery,
    headers: ['last-event-id'],
    reply: streamReply,
    replyType: eventStreamType,
    handle: ({ params, query: requested }, context) =>
      openStream({ id: params.task_id }, requested, context),
  }),
  route({
    method: 'GET',
    path: '/tasks/name/{task_name}/stream',
    summary: 'Stream a task by its name as server-sent events. A client can disconnect and resume',
    params: taskNameParams,
    query: streamQuery,
    headers: ['last-event-id'],
    reply: streamReply,
    replyType: eventStreamType,
    handle: ({ params, query: requested }, context) =>
      openStream({ name: params.task_name }, requested, context),
  }),
  route({
    method: 'POST',
    path: '/tasks/{task_id}/commands',
    summary:
      'Submit a command to the agent loop: message, steer, withdraw, approve, deny, tool_output, revoke, retry, abort or compact',
    params: taskIdParams,
    headers: ['idempotency-key'],
    body: commandSchema,
    status: 202,
    reply: z.object({ offset: z.int(), is_repeat: z.boolean() }),
    handle: ({ params, body }, context) =>
      context.service.tasks.submit(params.task_id, body, requestMetadata(context)),
  }),
  route({
    method: 'POST',
    path: '/tasks/{task_id}/fork',
    summary:
      'Fork a task: answer an item again, or replace it, in a copy of the earlier conversation. `task_metadata.branch` names the branch point',
    params: taskIdParams,
    body: forkTaskSchema,
    isBodyOptional: true,
    status: 201,
    reply: taskSchema,
    handle: ({ params, body }, { service, trace }) =>
      service.tasks.fork(params.task_id, body, { trace }),
  }),
  route({
    method: 'POST',
    path: '/tasks/{task_id}/branch',
    summary:
      'Continue a task from any record of its log in a new task: with another message, another tool result, another model or other instructions',
    params: taskIdParams,
    body: branchTaskSchema,
    status: 201,
    reply: taskSchema,
    handle: ({ params, body }, { service, trace }) =>
      service.tasks.branch(params.task_id, body, { trace }),
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/diff',
    summary:
      'Compare a task with another task: the first record at which they differ, its cause, and time, tokens and costs turn by turn',
    params: taskIdParams,
    query: diffQuery,
    reply: sessionDiffSchema,
    runsInTurn: true,
    async handle({ params, query: { other } }, { service, log, grant }) {
      const [a, b] = await comparedTasks(params.task_id, other, { service, log });
      const diff = await compareTasks(log, a, b);
      return grant.scope.kind === 'all' ? diff : withoutInstructions(diff);
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/divergence',
    summary:
      'Find the first record at which a task differs from another task. It is faster than the whole comparison, because it reads no further and skips what a branch has copied',
    params: taskIdParams,
    query: diffQuery,
    reply: divergenceSchema,
    runsInTurn: true,
    async handle({ params, query: { other } }, { service, log, grant }) {
      const [a, b] = await comparedTasks(params.task_id, other, { service, log });
      const found = await divergenceOf(log, a, b);
      const divergence = found && grant.scope.kind !== 'all' ? hideInstructions(found) : found;
      return { a, b, ...(divergence && { divergence }) };
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/blobs/{hash}',
    summary: 'Get the bytes of a blob that a message of the task refers to, or a range of them',
    params: taskIdParams.extend({ hash: z.string().regex(/^[0-9a-f]{64}$/) }),
    reply: z.string(),
    replyType: 'application/octet-stream',
    headers: ['range'],
    async handle({ params: { task_id: task, hash } }, context) {
      const { id } = await context.service.tasks.get({ id: task });
      return sendReferencedBlob(id, hash, context);
    },
  }),
  /**
   * Returns every single record. An inspector of a session needs them, because streams merge append records.
   */
  route({
    method: 'GET',
    path: '/tasks/{task_id}/records',
    runsInTurn: true,
    summary: 'List the records of the log of a task from an offset, without merging',
    params: taskIdParams,
    query: recordsQuery,
    reply: recordBatchSchema,
    async handle({ params, query }, { service, log }) {
      const { id } = await service.tasks.get({ id: params.task_id });
      return sendRecords(log, sessionId(id), query);
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/digest',
    summary: 'Get a summary of a task: whether it runs, why it stopped, and its usage per model',
    params: taskIdParams,
    reply: taskDigestSchema,
    async handle({ params }, { service, log, inTurn }) {
      const { id, agents } = await service.tasks.get({ id: params.task_id });
      const read = () => digestCacheFor(log).read(sessionId(id));
      const { state, isWhole } = await inTurn(read, 'refuse');
      const names = agents?.map(({ name }) => name) ?? [];
      return { task_id: id, agents: names, is_whole: isWhole, ...digestReply(state) };
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/outline',
    summary:
      'Get the log of a task in at most 256 segments, to read only the records of the part that is looked at',
    params: taskIdParams,
    reply: taskOutlineSchema,
    async handle({ params }, { service, log, inTurn }) {
      const { id } = await service.tasks.get({ id: params.task_id });
      const read = () => outlineCacheFor(log).read(sessionId(id));
      const { state, isWhole } = await inTurn(read, 'refuse');
      return { task_id: id, is_whole: isWhole, ...outlineReply(state) };
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/request',
    summary:
      'Rebuild the model request of an attempt from the log. It has no headers and no credentials; notes say what may have changed since. Only tokens with full access, because the request contains the instructions of the agent',
    access: 'all',
    params: taskIdParams,
    query: z.object({ turn: positiveCount, attempt: positiveCount.default(1) }),
    reply: pastRequestSchema,
    handle: ({ params, query }, { service }) => service.tasks.request(params.task_id, query),
  }),
];

/** Returns a page of the records of a session as a reply. */
export async function sendRecords(
  log: Log,
  session: SessionId,
  { from, incarnation, limit }: z.output<typeof recordsQuery>,
): Promise<StreamReply> {
  const isKnown = from > 0 || (await log.info(session)) !== undefined;
  const batch = isKnown
    ? await log.read(session, { from, incarnation, maxBytes: pageBytes })
    : { after: 0, through: 0, records: [] };
  const bytes = Buffer.from(encodeBatch(shownBatch(firstOf(batch, limit))));
  return new StreamReply(async (response) => {
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': bytes.length,
      'cache-control': 'no-store',
    });
    response.end(bytes);
  });
}

/** Returns a new batch with the first records of a batch. */
function firstOf(batch: Batch, limit: number | undefined): Batch {
  if (limit === undefined || batch.records.length <= limit) return batch;
  const records = batch.records.slice(0, limit);
  return { after: batch.after, through: records.at(-1)?.offset ?? batch.after, records };
}

async function openStream(
  ref: { readonly id: string } | { readonly name: string },
  { view, from: requested, start }: z.output<typeof streamQuery>,
  { service, streams, headers, restricted }: RouteContext,
): Promise<StreamReply> {
  const from = readCursor(headers['last-event-id'], requested);
  const { id: taskId } = await service.tasks.get(ref);
  const asked = { taskId, view, from, start, restricted };
  return new StreamReply((response) => streams.serve({ ...asked, response }));
}

/**
 * Returns the cursor of a request. The header takes precedence, because a reconnecting client sends its
 * latest cursor in the header.
 */
export function readCursor(header: string | string[] | undefined, requested: string | undefined) {
  const from = header === undefined || header === '' ? requested : String(header);
  if (from === undefined || isCursor(from)) return from;
  const message =
    'Cannot resume from this cursor: a cursor is the id of an event. Omit it to start with the current state';
  throw new ServerError('invalid', message);
}

interface ReferencedBlob {
  readonly mimeType: string;
  readonly length: number;
}

/** Returns a blob that the transcript of a session references, as a reply. Throws `not_found` otherwise. */
export async function sendReferencedBlob(
  task: string,
  hash: string,
  context: Parameters<typeof sendBlob>[1] & Pick<RouteContext, 'inTurn'>,
): ReturnType<Route['handle']> {
  const find = () => referencedBlob(context.log, task, hash);
  const found = await context.inTurn(find, 'refuse');
  const reply = found && (await sendBlob({ ...found, hash }, context));
  if (reply !== undefined) return reply;
  const message = `Cannot find this blob in task ${task}: no message of the task refers to it`;
  throw new ServerError('not_found', message, { task });
}

/** Returns the ids of the two tasks to compare. The caller must be allowed to read both. */
async function comparedTasks(
  task: string,
  other: string | undefined,
  { service, log }: Pick<RouteContext, 'service' | 'log'>,
): Promise<readonly [a: string, b: string]> {
  const { id } = await service.tasks.get({ id: task });
  const origin = other ?? (await originOf(log, id));
  const { id: a } = await service.tasks.get({ id: origin });
  return [a, id];
}

/**
 * Returns the type and length of a blob of the task. Returns undefined if the task's transcript does not
 * refer to the blob.
 */
export async function referencedBlob(
  log: Log,
  taskId: string,
  hash: string,
): Promise<ReferencedBlob | undefined> {
  const session = sessionId(taskId);
  if ((await log.info(session)) === undefined) return undefined;
  return findBlob(await snapshot(log, session), hash);
}

function findBlob(state: FoldState, hash: string): ReferencedBlob | undefined {
  for (const { parts } of transcript(state)) {
    for (const { mimeType, source } of parts.flatMap(mediaOf))
      if (source.type === 'blob' && source.hash === hash)
        return { mimeType, length: source.length };
  }
  return undefined;
}

function mediaOf(part: Part) {
  if (part.kind === 'media' || part.kind === 'file') return [part];
  return part.kind === 'tool_result' ? (part.attachments ?? []) : [];
}
