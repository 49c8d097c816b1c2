import type { Delta, Fact } from '@millrace/core';
import { z } from 'zod';
import { taskMessageSchema, updateSchema } from './message.ts';
import { taskEventSchema, taskResponseSchema, taskSchema } from './task.ts';

// The schemas of all data that streams send, for the OpenAPI document. PROTOCOL.md contains the exact
// specification. The server does not validate its own output with these schemas, but a test does.

type KnownType<T extends { readonly type: string }> = Exclude<T['type'], 'unknown'>;

const deltaTypes: Readonly<Record<KnownType<Delta>, true>> = {
  ...{ begin_part: true, append_text: true, append_bytes: true, replace_structured: true },
  ...{ set_metadata: true, commit_part: true, retract_part: true },
};

const factTypes: Readonly<Record<KnownType<Fact>, true>> = {
  ...{ item_started: true, item_finished: true, item_redacted: true },
  ...{ response_started: true, response_finished: true, usage_reported: true },
  ...{ attempt_superseded: true, retry_scheduled: true, run_started: true, run_finished: true },
  ...{ turn_started: true, turn_finished: true, aborted: true, error_reported: true },
  ...{ command_queued: true, command_consumed: true, compacted: true, handed_off: true },
  ...{ branched: true },
  ...{ tool_call_rejected: true, approval_asked: true, approval_answered: true },
  ...{ tool_output_asked: true, tool_execution_started: true, tool_execution_finished: true },
  ...{ file_changed: true, child_usage_reported: true, guardrail_applied: true, snapshot: true },
};

const typeOf = (types: object, what: string) =>
  z.string().meta({ description: `The type of the ${what}`, examples: Object.keys(types) });

/** One record of the log: a delta or a fact. */
const recordSchema = z.looseObject({
  v: z.int().describe('The version of the format'),
  offset: z.int().describe('The position in the log of the task: 1, 2, 3 …'),
  time: z.number().describe('Milliseconds since 1970, on the clock of the writer'),
  turn: z.int().describe('The turn. 0 outside of any turn'),
  attempt: z.int().describe('The attempt at the request of the turn. 0 outside of any attempt'),
  producer: z.string().describe('The writer of the record'),
  links: z
    .array(z.string())
    .optional()
    .describe("The links of the session's hash chain that end at this record"),
  delta: z
    .looseObject({ type: typeOf(deltaTypes, 'delta') })
    .optional()
    .describe('An increment of a part. Every record has a delta or a fact'),
  fact: z
    .looseObject({ type: typeOf(factTypes, 'fact') })
    .optional()
    .describe('Something that happened. Every record has a delta or a fact'),
});

/** All records between two offsets. */
export const recordBatchSchema = z.object({
  after: z.int().describe('The offset after which the records start'),
  through: z.int().describe('The offset up to which the records go'),
  records: z.array(recordSchema),
});

/** An event of an agent, in the view `events`. */
const agentEventSchema = z.looseObject({
  type: z.string().describe('The type of the event, for example assistant_text_delta'),
  session: z.string().describe('The id of the task'),
  offset: z.int().describe('The position of the record that caused the event'),
  time: z.number().describe('Milliseconds since 1970'),
  turn: z.int(),
  attempt: z.int(),
});

/** A chunk of the UI message stream of the AI SDK. */
export const uiChunkSchema = z.looseObject({
  type: z
    .string()
    .describe(
      'The type of the chunk, for example text-delta. The stream ends with the text [DONE]',
    ),
});

const connectedSchema = z.object({ type: z.literal('connected'), taskId: z.string() });
const taskUpdatedSchema = z.object({ type: z.literal('task_updated'), task: taskSchema });
const endSchema = z.object({
  reason: z.string().describe('Why the stream ended, in an event with the name `end`'),
  is_run_live: z.literal(false).optional(),
});

/** The data of one event of a task's stream. */
export const streamEventSchema = z
  .union([
    updateSchema,
    connectedSchema,
    taskUpdatedSchema,
    agentEventSchema,
    recordBatchSchema,
    endSchema,
    uiChunkSchema,
  ])
  .describe(
    'Server-sent events. This is the JSON in `data` of one event. The query parameter `view` selects updates, events of agents, batches of records, or chunks of the AI SDK',
  );

/** The results of the JSON-RPC methods. */
export const rpcResultSchema = z
  .union([
    taskResponseSchema,
    taskSchema,
    z.array(taskMessageSchema),
    taskEventSchema,
    updateSchema,
  ])
  .describe(
    'task/create, task/cancel and task/interrupt return the task, message/send the messages of the answer, and event/send the event. With `stream: true`, each line has an update',
  );

/** The schemas that have a name in the OpenAPI document. */
export const namedStreamSchemas: readonly (readonly [string, z.ZodType])[] = [
  ['Update', updateSchema],
  ['Record', recordSchema],
  ['RecordBatch', recordBatchSchema],
  ['AgentEvent', agentEventSchema],
  ['UiChunk', uiChunkSchema],
  ['StreamEvent', streamEventSchema],
  ['RpcResult', rpcResultSchema],
];
