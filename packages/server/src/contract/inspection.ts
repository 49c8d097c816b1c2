import { z } from 'zod';
import { jsonObjectSchema } from './content.ts';

const count = z.int().min(0);

const usageSchema = z.object({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  cacheWriteLong: count.optional(),
  reasoning: count,
  estimated: z.boolean(),
  costs: z.array(z.object({ amount: z.string(), currency: z.string() })),
  billed: z.record(z.string(), count).optional(),
});

/** A summary of a task, computed from its log. */
export const taskDigestSchema = z.object({
  task_id: z.string(),
  /** Names of the task's agents. */
  agents: z.array(z.string()),
  through: count,
  /**
   * False if the log is too long for one request. The next request continues where the previous one stopped.
   */
  is_whole: z.boolean(),
  /** The state of the task. `waiting` means that a tool call waits for an approval. */
  state: z.enum(['running', 'waiting', 'idle']),
  /** The time at which the current run started, in milliseconds since 1970. Null if no run is active. */
  running_since: z.int().nullable(),
  /** The reason why the last run ended. Null if no run has ended. */
  stop: z
    .object({ reason: z.string(), raw: z.string().optional(), cause: z.string().optional() })
    .nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** Token usage per provider and model. `provider` and `model` are null if the agent did not report them. */
  usage: z.array(
    z.object({
      provider: z.string().nullable(),
      model: z.string().nullable(),
      attempts: count,
      usage: usageSchema,
    }),
  ),
});

export type TaskDigest = z.output<typeof taskDigestSchema>;

const segmentSchema = z.object({
  after: count.describe('The offset after which the segment starts'),
  through: count.describe('The offset of the last record of the segment'),
  start_time: z.number().describe('The time of the first record, in milliseconds since 1970'),
  end_time: z.number().describe('The time of the last record'),
  records: count.describe('The number of records'),
  runs: count.describe('The number of runs that started'),
  turns: count.describe('The number of turns that started'),
  calls: count.describe('The number of tool calls that started'),
  errors: count.describe('The number of failed calls, failed turns and retries'),
  first_turn: count.describe('The first turn. 0 if no record belongs to a turn'),
  is_run_start: z
    .boolean()
    .describe('True if no run, turn or question was open before the segment'),
  usage: usageSchema.describe('The usage that was reported'),
});

/** An outline of a task's log with a limited number of segments. */
export const taskOutlineSchema = z.object({
  task_id: z.string(),
  through: count.describe('The offset of the last record that the outline includes'),
  is_whole: z
    .boolean()
    .describe('False if the log is too long for one request. The next request continues'),
  segments: z.array(segmentSchema).describe('The segments in order, at most 256'),
});

export type TaskOutline = z.output<typeof taskOutlineSchema>;

/** A model request from the past. The server rebuilds it from the log. */
export const pastRequestSchema = z.object({
  task_id: z.string(),
  turn: z.number(),
  attempt: z.number(),
  /** The provider that received the request. */
  provider: z.string(),
  model: z.string(),
  /** The URL of the request without its query. Null if the request does not use a network. */
  url: z.string().nullable(),
  /** The body of the rebuilt request. Null if it cannot be rebuilt. Headers are never included. */
  body: jsonObjectSchema.nullable(),
  /** Sentences for the user that describe possible differences from the original request. */
  notes: z.array(z.string()),
});

export type PastRequestInfo = z.output<typeof pastRequestSchema>;

const percentiles = z
  .object({ p50: z.number(), p95: z.number() })
  .nullable()
  .meta({ description: 'Null if no attempt reports it' });

/** The measured values over a group of attempts. */
const measures = {
  attempts: count.meta({ description: 'Number of attempts at a model request that started' }),
  errors: count.meta({ description: 'Number of attempts that failed or were superseded' }),
  duration_ms: percentiles.meta({ description: 'Time from the start of an attempt to its end' }),
  first_token_ms: percentiles.meta({
    description: 'Time to the first piece of output. Unknown for turns whose deltas were settled',
  }),
  input_tokens: count,
  output_tokens: count,
  cache_read_tokens: count,
  costs: z.array(z.object({ amount: z.string(), currency: z.string() })),
};

const group = {
  agent_name: z.string().nullable(),
  agent_version: z.string().nullable().meta({ description: 'Null if the agent has no version' }),
  provider: z.string().nullable(),
  model: z.string().nullable(),
};

/** Statistics about the attempts to send model requests in a time range. */
export const attemptStatisticsSchema = z.object({
  from: z.int().meta({ description: 'Start of the range, in milliseconds since 1970' }),
  to: z.int().meta({ description: 'End of the range, in milliseconds since 1970' }),
  bucket_ms: z.int().meta({ description: 'Length of a bucket in milliseconds' }),
  is_whole: z.boolean().meta({
    description:
      'False if some sessions are missing. The next request continues; at most 500 sessions count',
  }),
  sessions: count.meta({ description: 'Number of sessions with an attempt in the range' }),
  buckets: z
    .array(z.object({ started_at: z.int(), ...measures }))
    .meta({ description: 'The attempts by the time of their start. Buckets can be empty' }),
  groups: z
    .array(z.object({ ...group, ...measures }))
    .meta({ description: 'The attempts by agent, version, provider and model' }),
  names: z
    .array(z.object(group))
    .meta({ description: 'The agents and models in the range, without the filters' }),
});

/** Statistics about the attempts to send model requests in a time range. */
export type AttemptStatistics = z.output<typeof attemptStatisticsSchema>;

/** A text to find in the messages of tasks. */
export interface ContentSearch {
  readonly text: string;
  /** The value of `next` of the previous result. */
  readonly cursor?: string | undefined;
}

/** One place in a message that contains the searched text, with the text around it. */
const contentHitSchema = z.object({
  item_id: z.string(),
  kind: z.string().describe('The kind of the item: user, assistant or notification'),
  before: z.string(),
  match: z.string().describe('The found text, with the letters of the message'),
  after: z.string(),
});

export type ContentHit = z.output<typeof contentHitSchema>;

/** The tasks whose messages contain a text, last changed first, with at most 3 places each. */
export const contentSearchSchema = z.object({
  data: z.array(z.object({ task_id: z.string(), hits: z.array(contentHitSchema) })),
  searched: z.int().describe('The number of tasks that this request read'),
  next: z
    .string()
    .nullable()
    .describe('The cursor that continues with older tasks. Null if all tasks were searched'),
});

export type ContentSearchResult = z.output<typeof contentSearchSchema>;

const diffTotals = {
  durationMs: z.number().describe('The time of the turns, in milliseconds'),
  modelMs: z.number(),
  toolMs: z.number(),
  approvalMs: z.number(),
  requests: z.int(),
  executions: z.int(),
  usage: z.looseObject({ input: z.number(), output: z.number() }),
};

const diffedSession = z.looseObject({
  session: z.string(),
  through: z.int(),
  turns: z.int(),
  ...diffTotals,
});

const diffedTurn = z.looseObject({
  offset: z.int(),
  endOffset: z.int(),
  model: z.string().optional(),
  ...diffTotals,
});

const differenceSide = z.looseObject({
  offset: z.int().describe('The record at which the sessions differ'),
  type: z.string(),
});

const sessionDifference = z.looseObject({
  cause: z.enum(['request', 'answer', 'tool_result', 'command', 'setting']),
  turn: z.int(),
  attempt: z.int(),
  field: z.string(),
  call: z.object({ index: z.int(), name: z.string() }).optional(),
  a: differenceSide.optional(),
  b: differenceSide.optional(),
  message: z.string(),
});

/** The comparison of two tasks, as `diffSessions` of `@millrace/agent` returns it. */
export const sessionDiffSchema = z.object({
  a: diffedSession,
  b: diffedSession,
  divergence: sessionDifference
    .optional()
    .describe('The first difference. Absent if there is none'),
  differences: z.array(sessionDifference),
  differenceCount: z.int(),
  turns: z.array(
    z.object({
      turn: z.int(),
      isSame: z.boolean(),
      a: diffedTurn.optional(),
      b: diffedTurn.optional(),
    }),
  ),
  redactedTurns: z.array(z.int()),
});

/** The first difference of two tasks, as `findDivergence` of `@millrace/agent` returns it. */
export const divergenceSchema = z.object({
  a: z.string().describe('The id of the task to compare with'),
  b: z.string().describe('The id of the task'),
  divergence: sessionDifference
    .optional()
    .describe('The first difference. Absent if there is none'),
});
