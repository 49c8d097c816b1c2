import { z } from 'zod';

/** Up to where an agent has dealt with a task's events. */
export const trackerSchema = z.object({
  id: z.string(),
  agent_id: z.string(),
  task_id: z.string(),
  status: z.string().nullable(),
  status_reason: z.string().nullable(),
  last_processed_event_id: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string().nullable(),
});

export type Tracker = z.output<typeof trackerSchema>;
