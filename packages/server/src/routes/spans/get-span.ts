import { spanSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { spanIdParams } from '../path-params.ts';

export const getSpan = route({
  method: 'GET',
  path: '/spans/{span_id}',
  summary: 'A span',
  params: spanIdParams,
  reply: spanSchema,
  handle: ({ params }, { service }) => service.spans.get(params.span_id),
});
