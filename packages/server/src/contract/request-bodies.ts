import { isId } from '@millrace/core';
import { z } from 'zod';
import { contentSchema, jsonObjectSchema, jsonValueSchema } from './content.ts';
import { streamingStatusSchema } from './message.ts';
import { spanSchema } from './task.ts';

const object = jsonObjectSchema;
const id = z.string().min(1).max(1024).refine(isId, 'it has characters that cannot be printed');
/** What a name can be kept as: printable, and not too long. */
const name = z.string().min(1).max(256).refine(isId, 'it has characters that cannot be printed');

/** A time as ISO 8601 has it. Without a zone it is that of Greenwich, wherever the server stands. */
const time = z.string().refine(isTime, 'it is no ISO 8601 time').transform(withZone);

export const createTaskSchema = z.object({
  name: name.nullish(),
  params: object.nullish(),
  task_metadata: object.nullish(),
});

const task = { task_id: id.nullish(), task_name: name.nullish() };

export const sendMessageSchema = z.object({
  ...task,
  content: contentSchema,
  stream: z.boolean().nullish(),
  task_params: object.nullish(),
});

export const sendEventSchema = z.object({ ...task, content: contentSchema.nullish() });

export const namedTaskSchema = z.object(task);

export const updateTaskSchema = z.object({
  task_metadata: object.nullish(),
  merge_params: object.nullish(),
});

export const forkTaskSchema = z.object({
  /** What is answered again, or is said otherwise; the last answer unless told. */
  item_id: id.nullish(),
  /** What is said instead of the item. */
  content: contentSchema.nullish(),
});

export const reasonSchema = z.object({ reason: z.string().max(4096).nullish() });

export const createMessageSchema = z.object({
  task_id: id,
  content: contentSchema,
  streaming_status: streamingStatusSchema.nullish(),
  created_at: time.nullish(),
});

export const updateMessageSchema = createMessageSchema.omit({ created_at: true });

export const createMessagesSchema = z.object({
  task_id: id,
  contents: z.array(contentSchema).max(1000),
  created_at: time.nullish(),
});

export const updateMessagesSchema = z.object({
  task_id: id,
  updates: z
    .record(z.string(), contentSchema)
    .refine((updates) => Object.keys(updates).length <= 1000, 'it has more than 1000 messages'),
});

export const createStateSchema = z.object({ task_id: id, agent_id: id, state: object });

/** `version` is what the state has to have still, for whoever wants to be sure. */
export const updateStateSchema = z.object({
  state: object,
  version: z.int().nonnegative().nullish(),
});

const span = spanSchema.shape;

export const createSpanSchema = z.object({
  id: id.nullish(),
  trace_id: id,
  name: z.string().max(1024),
  start_time: time,
  end_time: time.nullish(),
  task_id: id.nullish(),
  parent_id: id.nullish(),
  input: span.input.optional(),
  output: span.output.optional(),
  data: span.data.optional(),
});

export const updateSpanSchema = createSpanSchema.omit({ id: true }).extend({
  trace_id: id.nullish(),
  name: z.string().max(1024).nullish(),
  start_time: time.nullish(),
});

export const updateTrackerSchema = z.object({
  last_processed_event_id: z.string().nullish(),
  status: z.string().nullish(),
  status_reason: z.string().nullish(),
});

const agentName = z
  .string()
  .regex(/^[a-z0-9-]+$/)
  .max(256);

export const registerBuildSchema = z.object({
  name: agentName,
  description: z.string(),
  registration_metadata: object.nullish(),
  agent_input_type: z.enum(['text', 'json']).nullish(),
});

export const registerAgentSchema = registerBuildSchema.extend({
  acp_url: z.url({ protocol: /^https?$/ }),
  acp_type: z.enum(['sync', 'async', 'agentic']),
  agent_id: id.nullish(),
  principal_context: jsonValueSchema.optional(),
});

export type CreateTask = z.output<typeof createTaskSchema>;
export type SendMessage = z.output<typeof sendMessageSchema>;
export type SendEvent = z.output<typeof sendEventSchema>;
export type ForkTask = z.output<typeof forkTaskSchema>;
export type UpdateTask = z.output<typeof updateTaskSchema>;
export type CreateMessage = z.output<typeof createMessageSchema>;
export type UpdateMessage = z.output<typeof updateMessageSchema>;
export type CreateMessages = z.output<typeof createMessagesSchema>;
export type UpdateMessages = z.output<typeof updateMessagesSchema>;
export type CreateState = z.output<typeof createStateSchema>;
export type UpdateState = z.output<typeof updateStateSchema>;
export type CreateSpan = z.output<typeof createSpanSchema>;
export type UpdateSpan = z.output<typeof updateSpanSchema>;
export type UpdateTracker = z.output<typeof updateTrackerSchema>;
export type RegisterBuild = z.output<typeof registerBuildSchema>;
export type RegisterAgent = z.output<typeof registerAgentSchema>;

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(withZone(text)));
}

function withZone(text: string): string {
  return /[T ]\d\d:\d\d[\d:.]*$/i.test(text) ? `${text}Z` : text;
}

const call = { tool_call_id: z.string().min(1).max(1024), by: z.string().max(1024).nullish() };
const reason = z.string().max(4096).nullish();

/** What somebody wants of an agent loop that is at work, or is to be. */
export const commandSchema = z.discriminatedUnion('type', [
  /** Starts a turn when the run would end. */
  z.object({ type: z.literal('message'), content: contentSchema }),
  /** Joins the next request. */
  z.object({ type: z.literal('steer'), content: contentSchema }),
  z.object({
    type: z.literal('approve'),
    ...call,
    /** What the call runs with instead. */
    input: jsonValueSchema.optional(),
    /** Also for what is asked by the same rule: until this time (ms since 1970), or to the end. */
    until: z.union([z.int().nonnegative(), z.literal('session')]).nullish(),
  }),
  z.object({ type: z.literal('deny'), ...call, reason }),
  z.object({ type: z.literal('abort'), reason }),
  z.object({ type: z.literal('compact') }),
  /** A message that still waits, by the key that it was sent with or has on the log, is not heard. */
  z.object({ type: z.literal('withdraw'), key: z.string().min(1).max(1024) }),
  /** What was allowed by this rule for longer than one call is asked about again. */
  z.object({ type: z.literal('revoke'), rule: z.string().min(1).max(4096) }),
]);

export type Command = z.output<typeof commandSchema>;

/** What a message has to be like to be listed: what is given of `content` has to be equal. */
export const messageFilterSchema = z.object({
  content: jsonObjectSchema.nullish(),
  streaming_status: streamingStatusSchema.nullish(),
  exclude: z.boolean().default(false),
});

export type MessageFilter = z.output<typeof messageFilterSchema>;
