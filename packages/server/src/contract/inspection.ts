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

/** A summary of a task so far, folded from its log. */
export const taskDigestSchema = z.object({
  task_id: z.string(),
  /** Names of the task's agents. */
  agents: z.array(z.string()),
  through: count,
  /** False if the log is too long for one request. The next request continues reading. */
  is_whole: z.boolean(),
  /** `waiting`: a tool call waits for approval. */
  state: z.enum(['running', 'waiting', 'idle']),
  /** Start time of the current run, in ms since 1970. */
  running_since: z.int().nullable(),
  /** Why the last run ended. */
  stop: z
    .object({ reason: z.string(), raw: z.string().optional(), cause: z.string().optional() })
    .nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** Usage by provider and model. Null if the agent did not report them. */
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

/** A past request to a model, rebuilt from the log. */
export const pastRequestSchema = z.object({
  task_id: z.string(),
  turn: z.number(),
  attempt: z.number(),
  /** The provider that received the request. */
  provider: z.string(),
  model: z.string(),
  /** The URL without its query. Null if the request does not use a network. */
  url: z.string().nullable(),
  /** The body as it would be sent. Null if it cannot be rebuilt. Headers are never included. */
  body: jsonObjectSchema.nullable(),
  /** Possible differences from the original request, as text for people. */
  notes: z.array(z.string()),
});

export type PastRequestInfo = z.output<typeof pastRequestSchema>;
