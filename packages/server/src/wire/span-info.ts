import { z } from 'zod';
import { jsonObjectSchema } from './json.ts';

const value = z.union([jsonObjectSchema, z.array(jsonObjectSchema)]).nullable();

export const spanSchema = z.object({
  id: z.string(),
  trace_id: z.string(),
  name: z.string(),
  start_time: z.string(),
  end_time: z.string().nullable(),
  task_id: z.string().nullable(),
  parent_id: z.string().nullable(),
  input: value,
  output: value,
  data: value,
});

export type SpanInfo = z.output<typeof spanSchema>;
