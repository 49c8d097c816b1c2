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
  /** False if the log is too long for one request. The next request continues where this one stopped. */
  is_whole: z.boolean(),
  /** The state of the task. `waiting` means that a tool call waits for an approval. */
  state: z.enum(['running', 'waiting', 'idle']),
  /** When the current run started, in milliseconds since 1970. Null if no run is active. */
  running_since: z.int().nullable(),
  /** The reason why the last run ended. Null if no run has ended. */
  stop: z
    .object({ reason: z.string(), raw: z.string().optional(), cause: z.string().optional() })
    .nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** Token usage by provider and model. `provider` and `model` are null if the agent did not report them. */
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

/** The log of a task in a limited number of segments. */
export const taskOutlineSchema = z.object({
  task_id: z.string(),
  through: count.describe('The offset of the last record that the outline includes'),
  is_whole: z
    .boolean()
    .describe('False if the log is too long for one request. The next request continues'),
  segments: z.array(segmentSchema).describe('The segments in order, at most 256'),
});

export type TaskOutline = z.output<typeof taskOutlineSchema>;

/** A past request to a model. The server rebuilds it from the log. */
export const pastRequestSchema = z.object({
  task_id: z.string(),
  turn: z.number(),
  attempt: z.number(),
  /** The provider that received the request. */
  provider: z.string(),
  model: z.string(),
  /** The URL without its query. Null if the request does not use a network. */
  url: z.string().nullable(),
  /** The body that would be sent. Null if it cannot be rebuilt. Headers are never included. */
  body: jsonObjectSchema.nullable(),
  /** Texts for people that describe possible differences from the original request. */
  notes: z.array(z.string()),
});

export type PastRequestInfo = z.output<typeof pastRequestSchema>;
