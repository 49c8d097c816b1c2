import { z } from 'zod';
import { jsonObjectSchema } from './json.ts';

/** What an agent keeps for a task. `version` rises with each change, for whoever wants to be sure. */
export const taskStateSchema = z.object({
  id: z.string(),
  task_id: z.string(),
  agent_id: z.string(),
  state: jsonObjectSchema,
  version: z.int(),
  created_at: z.string(),
  updated_at: z.string().nullable(),
});

export type TaskState = z.output<typeof taskStateSchema>;
