import { z } from 'zod';

const count = z.int().min(0);
const costs = z.array(z.object({ amount: z.string(), currency: z.string() }));

const interval = z
  .object({ low: z.number(), high: z.number(), confidence: z.number() })
  .nullable()
  .describe('The confidence interval. Null if there are too few cases');

const difference = z.object({
  mean: z.number(),
  interval,
  cases: count.describe('The number of cases that both variants have'),
});

const scoreSchema = z.object({
  scorer: z.string(),
  mean: z.number().describe('The mean of the cases, from 0 to 1'),
  interval,
  pass_rate: z.number().describe('The share of the scored runs whose score is at least 0.5'),
  cases: count,
  runs: count.describe('The number of runs with a score'),
  difference: difference.nullable().describe('The difference to the baseline'),
});

const variantSchema = z.object({
  name: z.string(),
  is_baseline: z.boolean(),
  runs: count.describe('The number of planned runs'),
  ended: count.describe('The number of runs that ended'),
  failed: count,
  open: count.describe('The number of runs without a result or without a score'),
  input_tokens: count,
  output_tokens: count,
  costs: costs.describe('The costs of the runs'),
  score_costs: costs.describe('The costs of the models that scored the runs'),
  mean_ms: z.number().describe('The mean duration of the runs that ended'),
  p95_ms: z.number().describe('The 95th percentile of the durations'),
  scores: z.array(scoreSchema),
});

/** The results of an experiment by variant. */
export const experimentSchema = z.object({
  name: z.string(),
  session_id: z.string().describe('The session that contains the results'),
  changed_at: z.number().describe('The time of the last result, in milliseconds since 1970'),
  is_running: z.boolean().describe('True while a process runs the experiment'),
  is_complete: z.boolean().describe('True if every planned run has ended and has all its scores'),
  is_whole: z
    .boolean()
    .describe('False if the server has not read all results yet. The next request continues'),
  cases: count,
  runs: count.describe('The number of planned runs'),
  ended: count.describe('The number of runs that ended'),
  failed: count,
  scorers: z.array(z.string()),
  variants: z.array(variantSchema),
});

export type ExperimentInfo = z.output<typeof experimentSchema>;

/** A page of the experiments, in the order of their names. */
export const experimentListSchema = z.object({
  data: z.array(experimentSchema),
  next: z.string().nullable().describe('The cursor of the next page. Null on the last page'),
});

export type ExperimentList = z.output<typeof experimentListSchema>;

const vote = z.object({
  session_id: z.string().describe('The session with the prompt and the answer of the judge'),
  value: z.number(),
  reason: z.string(),
});

const comparedRun = z.object({
  repeat: z.int(),
  session_id: z.string(),
  status: z.enum(['finished', 'failed', 'open']),
  error: z.string().nullable().describe('The reason if the run failed'),
  score: z.number().nullable(),
  reason: z.string().nullable().describe('The reason for the score'),
  votes: z.array(vote).describe('The votes of a judge'),
  duration_ms: z.number(),
  input_tokens: count,
  output_tokens: count,
  costs,
});

const comparedCase = z.object({
  mean: z.number().nullable().describe('The mean score of the repeats'),
  runs: z.array(comparedRun).describe('The first 10 runs of the case'),
  run_count: count.describe('The number of all runs of the case'),
});

const change = z.enum(['worse', 'better', 'same', 'unknown']);

const comparedVariant = z.object({ experiment: z.string(), variant: z.string() });

/** Two variants case by case. */
export const caseComparisonSchema = z.object({
  a: comparedVariant
    .nullable()
    .describe('The variant to compare with. Null if the experiment has one variant'),
  b: comparedVariant,
  scorer: z.string().nullable().describe('Null if the experiment has no scores'),
  is_whole: z.boolean(),
  counts: z.object({ worse: count, better: count, same: count, unknown: count }),
  difference: difference.nullable(),
  total: count.describe('The number of cases that the filter selects'),
  data: z.array(
    z.object({
      case: z.string(),
      change: change.describe('The change from `a` to `b`. `unknown`: one of them has no score'),
      difference: z.number().nullable(),
      a: comparedCase.nullable(),
      b: comparedCase,
    }),
  ),
});

export type CaseComparisonReply = z.output<typeof caseComparisonSchema>;

/** The query of a comparison. */
export const caseQuery = z.object({
  variant: z.string().max(64).optional().meta({
    description: 'The variant `b`. Default: the first variant that is not the baseline',
  }),
  other: z.string().max(64).optional().meta({
    description: 'The variant `a`. Default: the baseline, or the variant with the same name',
  }),
  other_experiment: z.string().max(64).optional().meta({
    description: 'The experiment of the variant `a`. Default: the same experiment',
  }),
  scorer: z.string().max(64).optional().meta({ description: 'Default: the first scorer' }),
  change: change.optional().meta({ description: 'Only cases with this change. Default: all' }),
  limit: z.int().min(1).max(100).default(25),
  page_number: z.int().min(1).max(100_000).default(1),
});

export type CaseQuery = z.output<typeof caseQuery>;
