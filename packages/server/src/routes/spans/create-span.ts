import { route } from '../../http/route.ts';
import { spanSchema } from '../../wire/span-info.ts';
import { createSpanSchema } from '../request-bodies.ts';

export const createSpan = route({
  method: 'POST',
  path: '/spans',
  summary: 'Adds a span to a trace',
  body: createSpanSchema,
  reply: spanSchema,
  handle: ({ body }, { service }) => service.spans.create(body),
});
