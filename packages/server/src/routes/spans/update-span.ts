import { updateSpanSchema } from '../../contract/request-bodies.ts';
import { spanSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';
import { spanIdParams } from '../path-params.ts';

export const updateSpan = route({
  method: 'PATCH',
  path: '/spans/{span_id}',
  summary: 'Changes what is given of a span, for instance when it ends',
  params: spanIdParams,
  body: updateSpanSchema,
  reply: spanSchema,
  handle: ({ params, body }, { service }) => service.spans.update(params.span_id, body),
});
