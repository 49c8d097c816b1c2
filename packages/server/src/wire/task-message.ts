import { z } from 'zod';
import { contentSchema } from './content.ts';

export const streamingStatusSchema = z.enum(['IN_PROGRESS', 'DONE']);

export const taskMessageSchema = z.object({
  id: z.string().nullable().default(null),
  task_id: z.string(),
  content: contentSchema,
  streaming_status: streamingStatusSchema.nullable().default(null),
  created_at: z.string().nullable().default(null),
  updated_at: z.string().nullable().default(null),
});

export type TaskMessage = z.output<typeof taskMessageSchema>;
