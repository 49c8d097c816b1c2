import { z } from 'zod';
import { agentInfoSchema } from './agent-info.ts';
import { jsonObjectSchema } from './json.ts';

export const taskStatusSchema = z.enum([
  'RUNNING',
  'INTERRUPTED',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'TERMINATED',
  'TIMED_OUT',
  'DELETED',
]);

const time = z.string().nullable();

export const taskSchema = z.object({
  id: z.string(),
  name: z.string().nullable(),
  status: taskStatusSchema.nullable(),
  status_reason: z.string().nullable(),
  created_at: time,
  updated_at: time,
  cleaned_at: time,
  params: jsonObjectSchema.nullable(),
  task_metadata: jsonObjectSchema.nullable(),
});

export const taskResponseSchema = taskSchema.extend({
  agents: z.array(agentInfoSchema).nullable(),
});

/** As lists have it. */
export const taskSummarySchema = taskResponseSchema.omit({ params: true }).extend({
  /** A run, a turn or a message of it is not finished; told only to whoever asks for it. */
  is_at_work: z.boolean().optional(),
  awaits_approval: z.boolean().optional().meta({
    description:
      'A tool call of it waits for somebody to allow it. Told with `relationships=work`, as far as it is known',
  }),
});

export type TaskStatus = z.output<typeof taskStatusSchema>;
export type Task = z.output<typeof taskSchema>;
export type TaskResponse = z.output<typeof taskResponseSchema>;
export type TaskSummary = z.output<typeof taskSummarySchema>;
