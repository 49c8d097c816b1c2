import type { Cost, ErrorInfo, Item, JsonObject, JsonValue, Stop, Usage } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Agent } from '../contract/agent.ts';
import type { RunInput } from '../contract/run.ts';
import type { ToolCall } from '../contract/typed-tools.ts';
import type { Interval } from './statistics.ts';

/** One input of a dataset. */
export interface EvalCase {
  /** The name of the case. It is unique in its dataset and has 1 to 200 characters. */
  readonly id: string;
  /** The input of the runs. */
  readonly input: RunInput;
  /** The expected answer: a text, or JSON. Default: none, for scorers that need no answer. */
  readonly expected?: JsonValue | undefined;
  /** Data for scorers and for `context`. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

/** Names one run of an experiment. */
export interface RunKey {
  readonly variant: string;
  /** The id of the case. */
  readonly case: string;
  /** The number of the repeat: 1, 2, 3 … */
  readonly repeat: number;
}

/** A finished run of an experiment, for scorers. All fields come from the log. */
export interface EvaluatedRun {
  readonly variant: string;
  readonly case: EvalCase;
  readonly repeat: number;
  /** The session of the run. */
  readonly session: string;
  readonly stop: Stop;
  /** The text of the last answer. */
  readonly text: string;
  /** The structured output of the last answer, as the model wrote it. Undefined if there is none. */
  readonly value: JsonValue | undefined;
  /** The items that the run added to its input. */
  readonly items: readonly Item[];
  readonly toolCalls: readonly ToolCall[];
  /** The usage of all attempts, including the attempts of sub-agents. */
  readonly usage: Usage;
  /** The time from the start to the end of the run, in milliseconds. It includes interruptions. */
  readonly durationMs: number;
  readonly error: ErrorInfo | undefined;
}

/** The score of a run. */
export interface Score {
  /** A number from 0 (bad) to 1 (good). */
  readonly value: number;
  /** Why the run has this score. Default: none. */
  readonly reason?: string | undefined;
  /** Further data about the score, such as the votes of judges. Default: none. */
  readonly details?: JsonValue | undefined;
  /** The usage of the models that computed the score. Default: none. */
  readonly usage?: Usage | undefined;
}

/** The second argument of a scorer. */
export interface ScoreContext {
  /** The log of the experiment. */
  readonly log: Log;
  /** The start of the ids of sessions that belong to this score. The same score always has the same start. */
  readonly session: string;
  /** Aborts when the experiment stops. Runs that use it as `leave` continue in the next process. */
  readonly signal: AbortSignal;
  /** The run of the variant `against` for the same case and repeat. Undefined for other scorers. */
  readonly other?: EvaluatedRun | undefined;
}

/** Scores runs. Create one with `codeScorer`, `judge`, `pairwise` or another function of this module. */
export interface Scorer {
  /** The name in reports: 1 to 64 letters, digits, `_`, `-` and `.`. */
  readonly name: string;
  /**
   * All settings that affect the scores, as JSON. If these settings change, the runs are scored again.
   * Default: only the name identifies the scorer.
   */
  readonly settings?: JsonValue | undefined;
  /** The variant that the runs of all other variants are compared with. Default: each run is scored alone. */
  readonly against?: string | undefined;
  /** Returns a score, a number from 0 to 1, or whether the run passes. */
  score(run: EvaluatedRun, context: ScoreContext): ScoreReturn | Promise<ScoreReturn>;
}

/** The return value of a scorer. True is 1, and false is 0. */
export type ScoreReturn = Score | number | boolean;

/** The values that a function for a variant gets. */
export interface VariantHost {
  /** The log of the experiment. Pass it to `createAgent`. */
  readonly log: Log;
}

/** An experiment: each variant answers each case several times, and the scorers score the answers. */
export interface Experiment {
  /** The name of the experiment: 1 to 64 letters, digits, `_`, `-` and `.`. */
  readonly name: string;
  /** The agents that are compared, by name. An agent must use the log of the experiment. */
  readonly variants: Readonly<Record<string, Agent | ((host: VariantHost) => Agent)>>;
  /** The dataset. */
  readonly cases: Iterable<EvalCase> | AsyncIterable<EvalCase>;
  /** The scorers. Default: none, so only cost and time are compared. */
  readonly scorers?: readonly Scorer[] | undefined;
  /** The number of runs of each variant for each case: 1 to 1,000. Default: 1. */
  readonly repeats?: number | undefined;
  /** The variant that reports compare the others with. Default: the first variant. */
  readonly baseline?: string | undefined;
  /**
   * A text for everything that no setting shows, such as the version of a tool's code. If it changes, all runs
   * are new. Default: none.
   */
  readonly version?: string | undefined;
  /** Maximum number of runs of the matrix, at most 100,000. More are refused. Default: 10,000. */
  readonly maxRuns?: number | undefined;
  /** Number of runs at the same time: 1 to 64. Default: 4. */
  readonly concurrency?: number | undefined;
  /**
   * No further run starts when all runs and scores of this experiment have cost this much, also in earlier calls.
   * Runs in progress continue to their end, and all runs that ended are scored. Answers of a model without a known
   * price do not count. Default: no limit.
   */
  readonly maxCost?: Cost | undefined;
  /** The probability of the confidence intervals, between 0.5 and 0.999. Default: 0.95. */
  readonly confidence?: number | undefined;
  /** Returns the `context` of a run, for tools and instructions. Default: none. */
  readonly context?: ((run: RunKey, evalCase: EvalCase) => unknown) | undefined;
}

/** Options of `runExperiment`. */
export interface ExperimentOptions extends Experiment {
  /** The log that stores the experiment, its runs and its judges. */
  readonly log: Log;
  /** If true, runs that failed in an earlier call get a new session. Default: false. */
  readonly retryFailed?: boolean | undefined;
  /**
   * Stops the experiment. Runs in progress stay open on the log, and the next call continues them. Default: none.
   */
  readonly signal?: AbortSignal | undefined;
  /** Called when a run is scored, and for runs that were scored before. Default: none. */
  readonly onRun?: ((run: RunReport, progress: ExperimentProgress) => void) | undefined;
}

/** The progress of an experiment. */
export interface ExperimentProgress {
  /** Number of runs for which `onRun` was called. */
  readonly done: number;
  /** Number of runs of the whole matrix. */
  readonly total: number;
}

/**
 * The state of a run. `finished`: the agent answered. `failed`: the run ended with an error, was aborted, or waits
 * for an approval. `open`: the run or one of its scores is missing.
 */
export type RunStatus = 'finished' | 'failed' | 'open';

/** One run in a report. */
export interface RunReport extends RunKey {
  readonly status: RunStatus;
  /** The session of the run. */
  readonly session: string;
  /** True if the log already had the finished run when `runExperiment` was called. */
  readonly isReused: boolean;
  /** The reason for the end of the run, for example `stop` or `error`. Undefined if it has not ended. */
  readonly stop?: string | undefined;
  /** Why the run failed, or why a score is missing. */
  readonly error?: string | undefined;
  readonly usage: Usage;
  /** The usage of models that scored the run. */
  readonly scoreUsage: Usage;
  readonly durationMs: number;
  /** The scores by the name of the scorer. A failed run has the score 0. */
  readonly scores: Readonly<Record<string, Score>>;
}

/** The scores of one scorer for one variant. */
export interface ScoreSummary {
  /** The mean of the cases. The value of a case is the mean of its repeats. */
  readonly mean: number;
  /** Undefined if there are too few cases. */
  readonly interval?: Interval | undefined;
  /** The share of the scored runs whose score is at least 0.5. */
  readonly passRate: number;
  /** Number of cases with a score. */
  readonly cases: number;
  /** Number of runs with a score. */
  readonly runs: number;
  /** The difference to the baseline in the cases that both have. Undefined for the baseline. */
  readonly difference?: ScoreDifference | undefined;
}

/** A difference between two variants. */
export interface ScoreDifference {
  readonly mean: number;
  /** The interval of the differences of single cases. Undefined if there are too few cases. */
  readonly interval?: Interval | undefined;
  readonly cases: number;
}

/** The results of one variant. */
export interface VariantReport {
  readonly name: string;
  readonly runs: number;
  readonly failed: number;
  readonly open: number;
  readonly usage: Usage;
  readonly scoreUsage: Usage;
  /** The mean duration of the runs that ended. */
  readonly meanDurationMs: number;
  /** The 95th percentile of the durations of the runs that ended. */
  readonly p95DurationMs: number;
  /** By the name of the scorer. */
  readonly scores: Readonly<Record<string, ScoreSummary>>;
}

/** The result of an experiment. */
export interface ExperimentReport {
  readonly name: string;
  /** The session with the results of all runs. */
  readonly session: string;
  readonly baseline: string;
  readonly variants: readonly VariantReport[];
  /** The runs in the order of the matrix. */
  readonly runs: readonly RunReport[];
  /** True if every run has ended and has all its scores. */
  readonly isComplete: boolean;
  /** Why the experiment stopped before its end: `signal` or `max_cost`. */
  readonly stoppedBy?: 'signal' | 'max_cost' | undefined;
}
