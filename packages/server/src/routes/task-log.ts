import { encodeBatch, type FoldState, type Part, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { z } from 'zod';
import { jsonObjectSchema } from '../contract/content.ts';
import { pastRequestSchema, taskDigestSchema } from '../contract/inspection.ts';
import { commandSchema, forkTaskSchema } from '../contract/request-bodies.ts';
import { ServerError } from '../contract/server-error.ts';
import { taskSchema } from '../contract/task.ts';
import {
  type Route,
  type RouteContext,
  requestMetadata,
  route,
  StreamReply,
} from '../http/route.ts';
import { digestReply, digestsOf } from '../inspection/task-digest.ts';
import { taskIdParams, taskNameParams } from './route-schemas.ts';

const streamQuery = z.object({
  view: z.enum(['updates', 'events', 'records', 'ui']).default('updates'),
  /** The `id` of the event after which to go on; 0 is the start. `last-event-id` comes first. */
  from: z.string().max(64).optional(),
});

const streamReply = z.string();

const eventStreamType = 'text/event-stream';

const cursorPattern = /^\d{1,15}(?:\.\d{1,9})?$/;

/** What a browser may show by itself, because nothing in it can run. */
const inlineTypes = /^(?:image\/(?:png|jpeg|gif|webp|avif)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

/** Roughly, of one page; at least one record comes. */
const pageBytes = 2 ** 20;

const positiveCount = z.coerce.number().int().min(1).max(1_000_000);

export const taskLogRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tasks/{task_id}/stream',
    summary: 'What happens to a task, as server-sent events that can be left and rejoined',
    params: taskIdParams,
    query: streamQuery,
    headers: ['last-event-id'],
    reply: streamReply,
    replyType: eventStreamType,
    handle: ({ params, query: asked }, context) =>
      openStream({ id: params.task_id }, asked, context),
  }),
  route({
    method: 'GET',
    path: '/tasks/name/{task_name}/stream',
    summary:
      'What happens to a task of a name, as server-sent events that can be left and rejoined',
    params: taskNameParams,
    query: streamQuery,
    headers: ['last-event-id'],
    reply: streamReply,
    replyType: eventStreamType,
    handle: ({ params, query: asked }, context) =>
      openStream({ name: params.task_name }, asked, context),
  }),
  route({
    method: 'POST',
    path: '/tasks/{task_id}/commands',
    summary:
      'Leaves a command for the agent loop: a message, steer, withdraw, approve, deny, revoke, abort, compact',
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
      'Answers again, or something else, in a new task that has what was before; `task_metadata.branch` says where they part',
    params: taskIdParams,
    body: forkTaskSchema,
    isBodyOptional: true,
    status: 201,
    reply: taskSchema,
    handle: ({ params, body }, { service, trace }) =>
      service.tasks.fork(params.task_id, body, { trace }),
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/blobs/{hash}',
    summary: 'Bytes that a message of the task refers to',
    params: taskIdParams.extend({ hash: z.string().regex(/^[0-9a-f]{64}$/) }),
    reply: z.string(),
    replyType: 'application/octet-stream',
    async handle({ params: { task_id: task, hash } }, { service, log }) {
      const { id } = await service.tasks.get({ id: task });
      const type = await blobMediaType(log, id, hash);
      const bytes = type === undefined ? undefined : await log.blobs.get(hash);
      if (type === undefined || bytes === undefined) {
        const message = `Cannot find a blob of this hash in task ${id}: no message of it refers to one`;
        throw new ServerError('not_found', message, { task: id });
      }
      const isShown = inlineTypes.test(type);
      return new StreamReply(async (response) => {
        response.writeHead(200, {
          'content-type': isShown ? type : 'application/octet-stream',
          'content-length': bytes.length,
          'content-disposition': isShown ? 'inline' : 'attachment',
          'content-security-policy': "default-src 'none'; sandbox",
          'cache-control': 'private, no-cache',
          etag: `"${hash}"`,
        });
        response.end(bytes);
      });
    },
  }),
  /** Streams put appends together; whoever looks at a session moment by moment wants each of them. */
  route({
    method: 'GET',
    path: '/tasks/{task_id}/records',
    summary: 'The records of a task as its log has them, none put together, from an offset on',
    params: taskIdParams,
    query: z.object({ from: z.int().min(0).default(0) }),
    reply: z.object({ after: z.int(), through: z.int(), records: z.array(jsonObjectSchema) }),
    async handle({ params, query: { from } }, { service, log }) {
      const { id } = await service.tasks.get({ id: params.task_id });
      const session = sessionId(id);
      const isKnown = from > 0 || (await log.info(session)) !== undefined;
      const batch = isKnown
        ? await log.read(session, { from, maxBytes: pageBytes })
        : { after: 0, through: 0, records: [] };
      const bytes = Buffer.from(encodeBatch(batch));
      return new StreamReply(async (response) => {
        response.writeHead(200, {
          'content-type': 'application/json; charset=utf-8',
          'content-length': bytes.length,
          'cache-control': 'no-store',
        });
        response.end(bytes);
      });
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/digest',
    summary: 'What a task came to: whether it runs, why it stopped, what it used of which model',
    params: taskIdParams,
    reply: taskDigestSchema,
    async handle({ params }, { service, log }) {
      const { id, agents } = await service.tasks.get({ id: params.task_id });
      const { state, isWhole } = await digestsOf(log).of(sessionId(id));
      const names = agents?.map(({ name }) => name) ?? [];
      return { task_id: id, agents: names, is_whole: isWhole, ...digestReply(state) };
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/request',
    summary:
      'What an agent loop asked its model in an attempt of a turn, made again from the log: without headers, and with notes on what may have changed since',
    params: taskIdParams,
    query: z.object({ turn: positiveCount, attempt: positiveCount.default(1) }),
    reply: pastRequestSchema,
    handle: ({ params, query }, { service }) => service.tasks.request(params.task_id, query),
  }),
];

async function openStream(
  ref: { readonly id: string } | { readonly name: string },
  { view, from: asked }: z.output<typeof streamQuery>,
  { service, streams, headers }: RouteContext,
): Promise<StreamReply> {
  const from = readCursor(headers['last-event-id'], asked);
  const { id: taskId } = await service.tasks.get(ref);
  return new StreamReply((response) => streams.serve({ taskId, view, from, response }));
}

/** Whoever comes back has the header, with a later cursor than what it once asked for. */
function readCursor(header: string | string[] | undefined, asked: string | undefined) {
  const from = header === undefined || header === '' ? asked : String(header);
  if (from === undefined || cursorPattern.test(from)) return from;
  const message =
    'Cannot go on from there: a cursor is the id of an event, such as 12 or 12.1. Leave it out to begin with what is there';
  throw new ServerError('invalid', message);
}

/** The media type of a blob that the task's transcript names; undefined where it names none such. */
async function blobMediaType(log: Log, taskId: string, hash: string): Promise<string | undefined> {
  const session = sessionId(taskId);
  if ((await log.info(session)) === undefined) return undefined;
  return findMediaType(await snapshot(log, session), hash);
}

function findMediaType(state: FoldState, hash: string): string | undefined {
  for (const { parts } of transcript(state)) {
    for (const part of parts) {
      const found = mediaOf(part).find(
        ({ source }) => source.type === 'blob' && source.hash === hash,
      );
      if (found !== undefined) return found.mimeType;
    }
  }
  return undefined;
}

function mediaOf(part: Part) {
  if (part.kind === 'media' || part.kind === 'file') return [part];
  return part.kind === 'tool_result' ? (part.attachments ?? []) : [];
}
