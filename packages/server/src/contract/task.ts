import { z } from 'zod';
import { contentSchema, jsonObjectSchema } from './content.ts';

export const agentInfoSchema = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  acp_type: z.enum(['sync', 'async', 'agentic']),
  status: z.enum(['Ready', 'Failed', 'Unknown', 'Deleted', 'Unhealthy', 'BuildOnly']),
  status_reason: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  registered_at: z.string().nullable(),
  registration_metadata: jsonObjectSchema.nullable(),
  agent_input_type: z.enum(['text', 'json']).nullable(),
  production_deployment_id: z.string().nullable(),
});

/** A served agent as clients receive it. */
export type AgentInfo = z.output<typeof agentInfoSchema>;

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

/** A task as an entry of a list. */
export const taskSummarySchema = taskResponseSchema.omit({ params: true }).extend({
  /**
   * True while a run, a turn or a message is not finished. The response has this field only if the client
   * requests it.
   */
  is_at_work: z.boolean().optional(),
  awaits_approval: z.boolean().optional().meta({
    description:
      'A tool call of the task waits for approval. Sent with `relationships=work`, if known',
  }),
});

export const taskPlaceSchema = z.enum(['recent', 'kept', 'archived']);

/**
 * The part of the session list that contains a task. The metadata of the task decides: `archived: true` makes
 * it `archived`; `pinned: true` or a `folder` makes it `kept`; all other tasks are `recent`.
 */
export type TaskPlace = z.output<typeof taskPlaceSchema>;

/** The status of a task. */
export type TaskStatus = z.output<typeof taskStatusSchema>;
/** A task as clients receive it. A task is one conversation with an agent. */
export type Task = z.output<typeof taskSchema>;
export type TaskResponse = z.output<typeof taskResponseSchema>;
export type TaskSummary = z.output<typeof taskSummarySchema>;

/** An event for an async agent. `sequence_id` is its offset in the task's log. */
export const taskEventSchema = z.object({
  id: z.string(),
  task_id: z.string(),
  agent_id: z.string(),
  sequence_id: z.int(),
  created_at: z.string().nullable(),
  content: contentSchema.nullable(),
});

/** An event that a client sent to an agent. */
export type TaskEvent = z.output<typeof taskEventSchema>;

/**
 * The state that an agent stores for a task. Each change increases `version`. Clients compare versions to
 * detect concurrent changes.
 */
export const taskStateSchema = z.object({
  id: z.string(),
  task_id: z.string(),
  agent_id: z.string(),
  state: jsonObjectSchema,
  version: z.int(),
  created_at: z.string(),
  updated_at: z.string().nullable(),
});

/** The state that an agent stores for a task. */
export type TaskState = z.output<typeof taskStateSchema>;

/** The position up to which an agent has processed a task's events. */
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

/** A stored span. */
export type SpanInfo = z.output<typeof spanSchema>;
