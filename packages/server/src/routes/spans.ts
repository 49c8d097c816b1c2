import { z } from 'zod';
import { createSpanSchema, updateSpanSchema } from '../contract/request-bodies.ts';
import { spanSchema } from '../contract/task.ts';
import { type Route, route } from '../http/route.ts';
import { listQuery, listReply, spanIdParams, toPageQuery } from './route-schemas.ts';

export const spanRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/spans',
    summary: 'Add a span to a trace',
    body: createSpanSchema,
    reply: spanSchema,
    handle: ({ body }, { service }) => service.spans.create(body),
  }),
  route({
    method: 'GET',
    path: '/spans',
    runsInTurn: true,
    summary: 'List spans: all, those of a trace, or those of a task',
    query: z.object({
      trace_id: z.string().optional(),
      task_id: z.string().optional(),
      ...listQuery,
    }),
    reply: z.array(spanSchema),
    async handle({ query }, { service }) {
      const of = { traceId: query.trace_id, taskId: query.task_id };
      return listReply(await service.spans.list({ ...toPageQuery(query), ...of }));
    },
  }),
  route({
    method: 'GET',
    path: '/spans/{span_id}',
    runsInTurn: true,
    summary: 'Get a span',
    params: spanIdParams,
    reply: spanSchema,
    handle: ({ params }, { service }) => service.spans.get(params.span_id),
  }),
  route({
    method: 'PATCH',
    path: '/spans/{span_id}',
    summary: 'Update the given fields of a span, for example its end',
    params: spanIdParams,
    body: updateSpanSchema,
    reply: spanSchema,
    handle: ({ params, body }, { service }) => service.spans.update(params.span_id, body),
  }),
];
