export {
  type CaseChange,
  type CaseComparison,
  type ComparedCase,
  type ComparedVariant,
  compareVariants,
  type VariantComparison,
} from './compare-cases.ts';
export {
  caseFromRecords,
  casesFromSessions,
  type SessionCaseOptions,
  type SessionCasesOptions,
} from './dataset.ts';
export type {
  EvalCase,
  EvaluatedRun,
  Experiment,
  ExperimentOptions,
  ExperimentProgress,
  ExperimentReport,
  RunKey,
  RunReport,
  RunStatus,
  Score,
  ScoreContext,
  ScoreDifference,
  ScoreReturn,
  Scorer,
  ScoreSummary,
  VariantHost,
  VariantReport,
} from './experiment.ts';
export { type JudgeOptions, judge, type PairwiseOptions, pairwise } from './judge.ts';
export {
  experimentFold,
  readExperiment,
  type StoredExperiment,
  storedReport,
} from './read-experiment.ts';
export { failedGates, type Gate, type GateFailure } from './report.ts';
export { runExperiment } from './run-experiment.ts';
export { type ScoreSessionOptions, scoreSession } from './score-session.ts';
export {
  codeScorer,
  type JsonOptions,
  matchesJson,
  matchesPattern,
  matchesSchema,
  matchesText,
  type NamedScorer,
  type PatternOptions,
  type SchemaOptions,
  type TextOptions,
} from './scorers.ts';
export { type Interval, meanInterval, wilsonInterval } from './statistics.ts';
export { experimentSessionName } from './stored-results.ts';
