import { isId } from '@millrace/core';
import { z } from 'zod';
import { checkedList, checkedRecord } from './checked-list.ts';
import { closedObject } from './closed-object.ts';
import {
  contentBodySchema as contentSchema,
  jsonObjectSchema,
  jsonValueSchema,
} from './content.ts';
import { streamingStatusSchema } from './message.ts';
import { spanSchema } from './task.ts';

const object = jsonObjectSchema;
const id = z.string().min(1).max(1024).refine(isId, 'it has unprintable characters');
/** The schema of a name: printable characters, at most 256. */
const name = z.string().min(1).max(256).refine(isId, 'it has unprintable characters');

/**
 * The schema of an ISO 8601 time. A time without a time zone counts as UTC, regardless of the server's time
 * zone.
 */
const time = z.string().refine(isTime, 'it is not an ISO 8601 time').transform(withZone);

export const createTaskSchema = closedObject({
  name: name.nullish(),
  params: object.nullish().meta({ description: 'At most 262,144 characters of JSON' }),
  task_metadata: object.nullish().meta({ description: 'At most 65,536 characters of JSON' }),
});

const task = { task_id: id.nullish(), task_name: name.nullish() };

export const sendMessageSchema = closedObject({
  ...task,
  content: contentSchema,
  stream: z.boolean().nullish(),
  task_params: object.nullish(),
});

export const sendEventSchema = closedObject({ ...task, content: contentSchema.nullish() });

export const namedTaskSchema = closedObject(task);

export const updateTaskSchema = closedObject({
  task_metadata: object.nullish(),
  merge_params: object.nullish(),
  /**
   * Fields to set in the metadata. A value of null removes the field. The task keeps its position in lists,
   * because `updated_at` does not change.
   */
  merge_metadata: object.nullish(),
});

export const forkTaskSchema = closedObject({
  /** The item to replace or to answer again. Default: the last answer. */
  item_id: id.nullish(),
  /** The content that replaces the item. Default: the agent answers the item again. */
  content: contentSchema.nullish(),
});

/** A request for a branch can contain at most this many new results, and as many calls to run again. */
const maxBranchCalls = 100;
const callId = z.string().min(1).max(1024);

/** A place in the log of a task, and what is different from there on. */
export const branchTaskSchema = closedObject({
  /** The offset of the record to continue from. */
  at: z.int().min(0),
  /** A new message. If the record belongs to a message, the new message replaces that message. */
  content: contentSchema.nullish(),
  /** The model that answers in the branch. It is one of the agent's `models`. */
  model: z.string().min(1).max(256).nullish(),
  /** Instructions that replace those of the agent. Restricted tokens and users cannot set them. */
  instructions: z.string().max(100_000).nullish(),
  /** Results that replace those of the turn's calls. Restricted tokens and users cannot set them. */
  results: z
    .array(
      closedObject({
        tool_call_id: callId,
        output: jsonValueSchema.optional(),
        error: z.string().max(65_536).optional(),
      }).refine(({ output, error }) => (output === undefined) !== (error === undefined), {
        error: 'it needs either output or error',
      }),
    )
    .max(maxBranchCalls)
    .nullish(),
  /** The calls of the turn that run again: names of tools, or ids of calls. Default: none. */
  rerun: z.array(callId).max(maxBranchCalls).nullish(),
});

export const reasonSchema = closedObject({ reason: z.string().max(4096).nullish() });

export const createMessageSchema = closedObject({
  task_id: id,
  content: contentSchema,
  streaming_status: streamingStatusSchema.nullish(),
  created_at: time.nullish(),
});

export const updateMessageSchema = createMessageSchema.omit({ created_at: true });

export const createMessagesSchema = closedObject({
  task_id: id,
  contents: checkedList(contentSchema, 1000),
  created_at: time.nullish(),
});

export const updateMessagesSchema = closedObject({
  task_id: id,
  updates: checkedRecord(contentSchema, 1000),
});

export const createStateSchema = closedObject({ task_id: id, agent_id: id, state: object });

/**
 * The body of a request that changes a state. The request fails if `version` is given and differs from the
 * stored version. Agentex clients also send the ids of the task and the agent. These ids must match the
 * state.
 */
export const updateStateSchema = closedObject({
  state: object,
  task_id: id.nullish(),
  agent_id: id.nullish(),
  version: z.int().nonnegative().nullish(),
});

const span = spanSchema.shape;

export const createSpanSchema = closedObject({
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

export const updateTrackerSchema = closedObject({
  last_processed_event_id: z.string().nullish(),
  status: z.string().nullish(),
  status_reason: z.string().nullish(),
});

const agentName = z
  .string()
  .regex(/^[a-z0-9-]+$/)
  .max(256);

export const registerBuildSchema = closedObject({
  name: agentName,
  description: z.string(),
  registration_metadata: object.nullish(),
  agent_input_type: z.enum(['text', 'json']).nullish(),
  /** A field that Agentex clients send. The server ignores it. */
  principal_context: jsonValueSchema.optional(),
});

export const registerAgentSchema = registerBuildSchema.extend({
  acp_url: z.url({ protocol: /^https?$/ }).max(2048),
  acp_type: z.enum(['sync', 'async', 'agentic']),
  agent_id: id.nullish(),
});

export type CreateTask = z.output<typeof createTaskSchema>;
export type SendMessage = z.output<typeof sendMessageSchema>;
export type SendEvent = z.output<typeof sendEventSchema>;
export type BranchTask = z.output<typeof branchTaskSchema>;
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
/** The model that answers from this message on. It is one of the agent's `models`. */
const model = z.string().min(1).max(256).nullish();

/** The schemas of the commands for an agent loop. */
const commands = [
  /** A message that starts a new turn at the point where the current run would end. */
  closedObject({ type: z.literal('message'), content: contentSchema, model }),
  /** A message that is added to the next model request of the current run. */
  closedObject({ type: z.literal('steer'), content: contentSchema, model }),
  closedObject({
    type: z.literal('approve'),
    ...call,
    /** Replaces the input of the approved tool call. */
    input: jsonValueSchema.optional(),
    /**
     * Also approves later calls that match the same rule. The value is a time in milliseconds since 1970, or
     * `session` for the rest of the session. It cannot be combined with `input`, because the rule applies to
     * the input that the model wrote.
     */
    until: z.union([z.int().nonnegative(), z.literal('session')]).nullish(),
  }).refine(({ input, until }) => input === undefined || until == null, {
    path: ['until'],
    error:
      'it cannot be used together with input, because the rule is about the input of the model',
  }),
  closedObject({ type: z.literal('deny'), ...call, reason }),
  /** The output of a tool that the client executed, or the error of this tool. */
  closedObject({
    type: z.literal('tool_output'),
    ...call,
    output: jsonValueSchema.optional(),
    error: z.string().max(65_536).optional(),
  }),
  /** Starts a new run without a new message, after a run has failed. */
  closedObject({ type: z.literal('retry') }),
  closedObject({ type: z.literal('abort'), reason }),
  closedObject({ type: z.literal('compact') }),
  /**
   * Removes a message that is still in the queue. `key` is the idempotency key of the request, or the key
   * on the log.
   */
  closedObject({ type: z.literal('withdraw'), key: z.string().min(1).max(1024) }),
  /** Ends a standing approval that was given with this rule. */
  closedObject({ type: z.literal('revoke'), rule: z.string().min(1).max(4096) }),
] as const;

export const commandSchema = z.discriminatedUnion('type', commands, {
  error: ({ code, input }) => (code === 'invalid_union' ? unknownCommandType(input) : undefined),
});

/** Returns an error message that contains the client's command type and the valid types. */
function unknownCommandType(input: unknown): string {
  const { type = null } = (input ?? {}) as { readonly type?: unknown };
  const known = commands.map(({ shape }) => shape.type.value).join(', ');
  const given = JSON.stringify(type)?.slice(0, 64) ?? 'null';
  return `there is no command of the type ${given}. Known types: ${known}`;
}

export type Command = z.output<typeof commandSchema>;

/** Selects messages. A message matches if its content has all fields of `content` with the same values. */
export const messageFilterSchema = closedObject({
  content: jsonObjectSchema.nullish(),
  streaming_status: streamingStatusSchema.nullish(),
  exclude: z.boolean().default(false),
});

export type MessageFilter = z.output<typeof messageFilterSchema>;
