import { z } from 'zod';
import { jsonObjectSchema } from './content.ts';

const count = z.int().min(0);

const usageSchema = z.object({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  reasoning: count,
  estimated: z.boolean(),
  costs: z.array(z.object({ amount: z.string(), currency: z.string() })),
});

/** What a task came to so far: a fold of its log. */
export const taskDigestSchema = z.object({
  task_id: z.string(),
  /** The names of its agents. */
  agents: z.array(z.string()),
  through: count,
  /** False where the log is so long that the next request has to read on. */
  is_whole: z.boolean(),
  /** `waiting`: a call waits for somebody's word. */
  state: z.enum(['running', 'waiting', 'idle']),
  /** When the run that goes on began, in ms since 1970. */
  running_since: z.int().nullable(),
  /** Why the last run ended. */
  stop: z
    .object({ reason: z.string(), raw: z.string().optional(), cause: z.string().optional() })
    .nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** By provider and model; null where the agent did not say. */
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

/** A request to a model, made again from the log. */
export const pastRequestSchema = z.object({
  task_id: z.string(),
  turn: z.number(),
  attempt: z.number(),
  /** Who was asked. */
  provider: z.string(),
  model: z.string(),
  /** Without its query; null where nothing goes over a network. */
  url: z.string().nullable(),
  /** As it would be sent; null where it is not made again. Headers are never told. */
  body: jsonObjectSchema.nullable(),
  /** What may be otherwise than it was, for people. */
  notes: z.array(z.string()),
});

export type PastRequestInfo = z.output<typeof pastRequestSchema>;
