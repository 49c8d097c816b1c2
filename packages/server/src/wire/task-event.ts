import { z } from 'zod';
import { contentSchema } from './content.ts';

/** What somebody sent to an async agent. `sequence_id` is its offset on the task's log. */
export const taskEventSchema = z.object({
  id: z.string(),
  task_id: z.string(),
  agent_id: z.string(),
  sequence_id: z.int(),
  created_at: z.string().nullable(),
  content: contentSchema.nullable(),
});

export type TaskEvent = z.output<typeof taskEventSchema>;
