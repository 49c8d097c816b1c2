import { z } from 'zod';
import { jsonObjectSchema } from './json.ts';

/** A request to a model, made again from the log. */
export const pastRequestSchema = z.object({
  task_id: z.string(),
  turn: z.number(),
  attempt: z.number(),
  /** Who was asked. */
  provider: z.string(),
  model: z.string(),
  /** Without its query; null where nothing goes over a network. */
  url: z.string().nullable(),
  /** As it would be sent; null where it is not made again. Headers are never told. */
  body: jsonObjectSchema.nullable(),
  /** What may be otherwise than it was, for people. */
  notes: z.array(z.string()),
});

export type PastRequestInfo = z.output<typeof pastRequestSchema>;
