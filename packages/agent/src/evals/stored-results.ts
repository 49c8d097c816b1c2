import {
  type ErrorInfo,
  isDecimal,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Part,
  type Usage,
} from '@millrace/core';
import type { RunKey, Score } from './experiment.ts';

/** The matrix of an experiment, as its session stores it. It says which runs belong together. */
export interface StoredPlan {
  /** A hash of all other fields. */
  readonly hash: string;
  readonly baseline: string;
  /** The variants in their order, with a hash of their settings. */
  readonly variants: readonly { readonly name: string; readonly hash: string }[];
  readonly scorers: readonly { readonly name: string; readonly against?: string | undefined }[];
  readonly repeats: number;
  readonly confidence: number;
  /** The ids of the cases, with a hash of their input. */
  readonly cases: readonly StoredCase[];
}

export type StoredCase = readonly [id: string, hash: string];

/** A run that has ended, as the session of the experiment stores it. */
export interface StoredRun extends RunKey {
  /** The session that the plan gave to the run. It identifies the case and the settings. */
  readonly planned: string;
  /** The session of the last try. */
  readonly session: string;
  readonly stop: string;
  readonly isFailed: boolean;
  readonly error: ErrorInfo | undefined;
  readonly usage: Usage;
  readonly durationMs: number;
}

/** A score as the session of the experiment stores it. */
export interface StoredScore {
  readonly planned: string;
  readonly scorer: string;
  /** A hash of the scorer's settings and of the expected answer. */
  readonly hash: string;
  readonly score: Score;
}

/** One part of the session of an experiment. After a `plan`, parts of limited size contain the cases of the plan. */
export type StoredResult =
  | { readonly type: 'plan'; readonly plan: Omit<StoredPlan, 'cases'> }
  | { readonly type: 'cases'; readonly cases: readonly StoredCase[] }
  | { readonly type: 'run'; readonly run: StoredRun }
  | { readonly type: 'score'; readonly score: StoredScore };

/** The limits of an experiment. */
export const experimentLimits = {
  repeats: 1000,
  runs: 100_000,
  defaultRuns: 10_000,
  concurrency: 64,
  scorers: 64,
  variants: 64,
  caseIdLength: 200,
} as const;

/** The name of the parts that contain the results. */
const resultPart = 'millrace.eval';
/** The number of cases in one part. */
const casesPerPart = 500;
const hashForm = /^[0-9a-f]{16}(?:~\d{1,3})?$/;
const nameForm = /^[\w.-]{1,64}$/;

/** Returns true for a name of an experiment, a variant or a scorer. */
export function isExperimentName(name: unknown): name is string {
  return typeof name === 'string' && nameForm.test(name);
}

/** Returns true for the id of a case: 1 to 200 printable characters. */
export function isCaseId(id: unknown): id is string {
  if (typeof id !== 'string' || id.length > experimentLimits.caseIdLength) return false;
  return /^[^\p{C}]+$/u.test(id);
}

/** Returns the session of a planned run. A further try has `~2`, `~3` … after it. */
export function runSessionId(session: string, { variant, case: id, repeat }: RunKey, hash: string) {
  return `${session}/${variant}/${id}/${repeat}/${hash}`;
}

/**
 * Returns a name for a session of an experiment: for its results, a run, or the vote of a judge. Returns undefined
 * for all other sessions.
 *
 * @example
 * experimentSessionName('eval/refunds/brief/late/1/0123456789abcdef'); // 'refunds: brief, late, run 1'
 */
export function experimentSessionName(session: string): string | undefined {
  const [root, experiment, variant, ...place] = session.split('/');
  if (root !== 'eval' || !experiment) return undefined;
  if (variant === undefined) return `Experiment ${experiment}`;
  // The id of a case can contain slashes, so the fixed parts are read from the end.
  const isVote = place.length >= 6 && hashForm.test(place.at(-2) ?? '');
  const run = isVote ? place.slice(0, -3) : place;
  const [repeat, hash] = run.slice(-2);
  if (run.length < 3 || !hashForm.test(hash ?? '')) return undefined;
  const name = `${experiment}: ${variant}, ${run.slice(0, -2).join('/')}, run ${repeat}`;
  return isVote ? `${name}, vote ${place.at(-1)} of ${place.at(-3)}` : name;
}

/** Returns the parts that store results. */
export function resultParts(results: readonly StoredResult[]): readonly Part[] {
  return results.map(({ type, ...content }) => {
    const [value] = Object.values(content);
    const fields = type === 'cases' ? { cases: value } : value;
    // Fields without a value disappear, because JSON has no undefined.
    const json = JSON.parse(JSON.stringify({ type, ...fields })) as JsonObject;
    return { kind: 'custom', name: resultPart, value: json };
  });
}

/** Splits a plan into parts of limited size. */
export function planResults({ cases, ...plan }: StoredPlan): readonly StoredResult[] {
  const chunks: StoredResult[] = [{ type: 'plan', plan }];
  for (let at = 0; at < cases.length; at += casesPerPart)
    chunks.push({ type: 'cases', cases: cases.slice(at, at + casesPerPart) });
  return chunks;
}

/**
 * Reads a result. Returns undefined if the part is not a result, or if it has a wrong form. The session can come from
 * an import, so its content is not trusted.
 */
export function readResult(part: Part): StoredResult | undefined {
  if (part.kind !== 'custom' || part.name !== resultPart || !isJsonObject(part.value))
    return undefined;
  const { type, ...rest } = part.value;
  const value: unknown = rest;
  if (type === 'plan' && isStoredPlan(value)) return { type, plan: value };
  if (type === 'cases' && areStoredCases(rest['cases'])) return { type, cases: rest['cases'] };
  if (type === 'run' && isStoredRun(value)) return { type, run: value };
  if (type === 'score' && isStoredScore(value)) return { type, score: value };
  return undefined;
}

function isStoredPlan(value: unknown): value is Omit<StoredPlan, 'cases'> {
  const { hash, baseline, variants, scorers, repeats, confidence } = value as Partial<StoredPlan>;
  const areNamed = (list: unknown, most: number, field: string) =>
    Array.isArray(list) &&
    list.length <= most &&
    list.every((one) => isExperimentName(one?.name) && typeof (one[field] ?? '') === 'string');
  return (
    typeof hash === 'string' &&
    isExperimentName(baseline) &&
    areNamed(variants, experimentLimits.variants, 'hash') &&
    areNamed(scorers, experimentLimits.scorers, 'against') &&
    isBetween(repeats, 1, experimentLimits.repeats) &&
    Number.isSafeInteger(repeats) &&
    isBetween(confidence, 0.5, 0.999)
  );
}

function areStoredCases(
  value: JsonValue | undefined,
): value is readonly (readonly [string, string])[] {
  if (!Array.isArray(value) || value.length > casesPerPart) return false;
  return value.every((one) => Array.isArray(one) && isCaseId(one[0]) && typeof one[1] === 'string');
}

function isStoredRun(value: unknown): value is StoredRun {
  const run = value as Partial<StoredRun>;
  const areTexts = [run.planned, run.session, run.stop].every((text) => typeof text === 'string');
  return (
    areTexts &&
    isExperimentName(run.variant) &&
    isCaseId(run.case) &&
    isBetween(run.repeat, 1, experimentLimits.repeats) &&
    isBetween(run.durationMs, 0, Number.MAX_SAFE_INTEGER) &&
    isUsage(run.usage)
  );
}

function isStoredScore(value: unknown): value is StoredScore {
  const { planned, scorer, hash, score } = value as Partial<StoredScore>;
  const areTexts = [planned, hash].every((text) => typeof text === 'string');
  if (!areTexts || !isExperimentName(scorer) || !isBetween(score?.value, 0, 1)) return false;
  return score?.usage === undefined || isUsage(score.usage);
}

/** Sums of costs need valid decimals. */
function isUsage(usage: Usage | undefined): boolean {
  const { input, output, cacheRead, cacheWrite, reasoning, costs } = usage ?? {};
  const { cacheWriteLong = 0, billed = {} } = (usage ?? {}) as Partial<Usage>;
  const counts: readonly unknown[] = [input, output, cacheRead, cacheWrite, reasoning];
  const isCount = (count: unknown) => isBetween(count, 0, Number.MAX_SAFE_INTEGER);
  const isCost = (cost: unknown) => {
    const { amount, currency } = (cost ?? {}) as Record<string, unknown>;
    return typeof amount === 'string' && isDecimal(amount) && typeof currency === 'string';
  };
  return (
    [...counts, cacheWriteLong].every(isCount) &&
    isJsonObject(billed) &&
    Object.values(billed).every(isCount) &&
    Array.isArray(costs) &&
    costs.every(isCost)
  );
}

function isBetween(value: unknown, low: number, high: number): value is number {
  return typeof value === 'number' && value >= low && value <= high;
}
