import { encodeRecord, sessionId } from '@millrace/core';
import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
import { Reply, type Route, type RouteContext, route } from '../../http/route.ts';
import { shownRecord } from '../../stream/hidden-instructions.ts';
import { taskIdParams } from '../route-schemas.ts';
import { positionHeaders, type ReadQuery, readStream } from './read-stream.ts';
import { badRequest, checkPath } from './request-headers.ts';
import type { ReadableSource, StreamPosition } from './stream-pages.ts';
import { dataOf } from './stream-state.ts';
import { type StoredStream, streamStore } from './stream-store.ts';
import { appendToStream, createStream, existing, streamHeaders } from './write-stream.ts';

const pathParams = z.object({
  path: z
    .string()
    .min(1)
    .max(1024)
    .describe('The path of the stream. It can have several segments'),
});

const readQuery = z.object({
  offset: z
    .string()
    .max(64)
    .optional()
    .describe(
      'The offset after which to read. `-1` is the start, and `now` is the end. Default: -1',
    ),
  live: z
    .enum(['long-poll', 'sse'])
    .optional()
    .describe('`long-poll` waits for new data. `sse` streams data as events. Default: no wait'),
  cursor: z
    .string()
    .max(64)
    .optional()
    .describe('The `Stream-Cursor` of the previous answer. It lets caches join equal requests'),
});

const nothing = z.undefined();
const anyType = '*/*';

/**
 * Streams in the protocol of Durable Streams. `/streams/tasks/{task_id}` contains the records of a task and
 * is read-only. Clients create the streams at all other paths.
 */
export const streamRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/streams/tasks/{task_id}',
    summary: 'Read the records of a task as a JSON stream, in the protocol of Durable Streams',
    params: taskIdParams,
    query: readQuery,
    reply: z.array(z.looseObject({})),
    async handle({ params }, context) {
      return readStream(await taskSource(params.task_id, context), queryOf(context), context);
    },
  }),
  route({
    method: 'HEAD',
    path: '/streams/tasks/{task_id}',
    summary: 'Get the end of the stream of a task',
    params: taskIdParams,
    reply: nothing,
    async handle({ params }, context) {
      const source = await taskSource(params.task_id, context);
      return head(source.contentType, positionHeaders(await source.position()));
    },
  }),
  route({
    method: 'PUT',
    path: '/streams/{path*}',
    summary:
      'Create a stream, or confirm that it exists with the same configuration. The body is its first data',
    params: pathParams,
    takesAny: true,
    status: 201,
    reply: nothing,
    handle: async ({ params }, context) =>
      createStream(await clientPath(params.path, context), context),
  }),
  route({
    method: 'POST',
    path: '/streams/{path*}',
    summary:
      'Append the body to a stream. With `Stream-Closed: true`, the stream accepts no further data',
    params: pathParams,
    takesAny: true,
    status: 204,
    reply: nothing,
    handle: async ({ params }, context) =>
      appendToStream(await clientPath(params.path, context), context),
  }),
  route({
    method: 'GET',
    path: '/streams/{path*}',
    summary: 'Read a stream from an offset: at once, with a long poll, or as server-sent events',
    params: pathParams,
    query: readQuery,
    reply: z.string(),
    replyType: anyType,
    async handle({ params }, context) {
      const stream = await findStream(params.path, context);
      return readStream(clientSource(stream, context), queryOf(context), context);
    },
  }),
  route({
    method: 'HEAD',
    path: '/streams/{path*}',
    summary: 'Get the content type, the end and the expiry of a stream',
    params: pathParams,
    reply: nothing,
    async handle({ params }, context) {
      const stream = await findStream(params.path, context);
      const { contentType, ttlSeconds, expiresAt } = stream.config;
      return head(contentType, {
        ...streamHeaders(stream),
        ...(ttlSeconds !== undefined && { 'stream-ttl': String(ttlSeconds) }),
        ...(expiresAt !== undefined && { 'stream-expires-at': expiresAt }),
      });
    },
  }),
  route({
    method: 'DELETE',
    path: '/streams/{path*}',
    summary: 'Delete a stream. Its forks keep their data',
    params: pathParams,
    status: 204,
    reply: nothing,
    async handle({ params }, context) {
      const path = await clientPath(params.path, context);
      existing(await streamStore(context.log, context.clock).delete(path), path);
      return new Reply(undefined, { status: 204 });
    },
  }),
];

function head(contentType: string, headers: Readonly<Record<string, string>>): Reply {
  const more = { 'content-type': contentType, 'cache-control': 'no-store' };
  return new Reply(undefined, { headers: { ...headers, ...more } });
}

/** Returns the path of a stream that clients write. The stream of a task is read-only. */
async function clientPath(path: string, context: RouteContext): Promise<string> {
  if (/^tasks\/[^/]+$/.test(path)) {
    const message = 'Cannot change the stream of a task. Send a message or a command to the task';
    throw new ServerError('method_not_allowed', message, {}, { details: { allow: 'GET, HEAD' } });
  }
  return checkPath(path, context);
}

async function findStream(requested: string, context: RouteContext): Promise<StoredStream> {
  const path = await checkPath(requested, context);
  return existing(await streamStore(context.log, context.clock).find(path), path);
}

/** Returns the query without the conversions of other routes, because an empty offset is an error here. */
function queryOf({ rawQuery }: RouteContext): ReadQuery {
  const text = (name: string) => {
    const value = Object.hasOwn(rawQuery, name) ? rawQuery[name] : undefined;
    if (value === undefined || (typeof value === 'string' && value !== '')) return value;
    throw badRequest(`Cannot read the parameter ${name}. Send one value`);
  };
  return { offset: text('offset'), live: text('live'), cursor: text('cursor') };
}

/** Returns the records of a task as a stream. */
async function taskSource(taskId: string, context: RouteContext): Promise<ReadableSource> {
  const { service, log } = context;
  const { id } = await service.tasks.get({ id: taskId });
  const session = sessionId(id);
  return {
    ...{ session, contentType: 'application/json', origins: [] },
    async position(): Promise<StreamPosition> {
      const info = await log.info(session);
      if (info === undefined)
        throw new ServerError('not_found', `Cannot find the log of task ${id}`);
      const { incarnation, through, isClosed } = info;
      return { incarnation, through, tail: through, isClosed };
    },
    dataOf: (record) => ({ json: [encodeRecord(shownRecord(record))] }),
    use: async () => {},
  };
}

/** Returns a stream that clients write. */
function clientSource(stream: StoredStream, { log, clock }: RouteContext): ReadableSource {
  const store = streamStore(log, clock);
  const { session, config, incarnation: opened } = stream;
  const current = async () => {
    const now = existing(await store.find(config.path), config.path);
    if (now.incarnation === opened) return now;
    throw new ServerError(
      'rewound',
      'Cannot continue: the stream was replaced. Read from offset -1',
    );
  };
  return {
    ...{ session, contentType: config.contentType, origins: config.fork?.origins ?? [], dataOf },
    async position() {
      const { incarnation, through, state } = await current();
      return { incarnation, through, tail: state.tail, isClosed: state.isClosed };
    },
    use: async () => store.use(await current()),
  };
}
