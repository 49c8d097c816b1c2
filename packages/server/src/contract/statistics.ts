import { z } from 'zod';

const count = z.int().min(0);

const percentiles = z
  .object({ p50: z.number(), p95: z.number() })
  .nullable()
  .meta({ description: 'Null if no attempt reports it' });

/** The measured values of a set of attempts. */
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
  provider: z.string().nullable(),
  model: z.string().nullable(),
};

/** Statistics of the attempts at model requests in a range of time. */
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
    .meta({ description: 'The attempts by agent, provider and model' }),
  names: z
    .array(z.object(group))
    .meta({ description: 'The agents and models in the range, without the filters' }),
});

/** Statistics of the attempts at model requests in a range of time. */
export type AttemptStatistics = z.output<typeof attemptStatisticsSchema>;
