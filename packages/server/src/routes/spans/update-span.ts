import { route } from '../../http/route.ts';
import { spanSchema } from '../../wire/span-info.ts';
import { spanIdParams } from '../path-params.ts';
import { updateSpanSchema } from '../request-bodies.ts';

export const updateSpan = route({
  method: 'PATCH',
  path: '/spans/{span_id}',
  summary: 'Changes what is given of a span, for instance when it ends',
  params: spanIdParams,
  body: updateSpanSchema,
  reply: spanSchema,
  handle: ({ params, body }, { service }) => service.spans.update(params.span_id, body),
});
