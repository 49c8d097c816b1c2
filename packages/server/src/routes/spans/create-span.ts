import { createSpanSchema } from '../../contract/request-bodies.ts';
import { spanSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';

export const createSpan = route({
  method: 'POST',
  path: '/spans',
  summary: 'Adds a span to a trace',
  body: createSpanSchema,
  reply: spanSchema,
  handle: ({ body }, { service }) => service.spans.create(body),
});
