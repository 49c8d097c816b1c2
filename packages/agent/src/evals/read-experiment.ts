import { addUsage, type LogRecord, noUsage, sessionId, type Usage } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { ExperimentReport, RunKey, RunReport, Score } from './experiment.ts';
import { experimentReport, failedScore } from './report.ts';
import {
  experimentLimits,
  isExperimentName,
  readResult,
  runSessionId,
  type StoredCase,
  type StoredPlan,
  type StoredResult,
  type StoredRun,
} from './stored-results.ts';

/** The results of an experiment, as `experimentFold` collects them from the records of its session. */
export interface StoredExperiment {
  /** The offset of the last record. */
  readonly through: number;
  /** False if the session has more results than `maxResults`. The newest results are then missing. */
  readonly isWhole: boolean;
  readonly plan: { readonly item: string; readonly value: StoredPlan } | undefined;
  /**
   * The runs and scores, in the order of the log. The key of a run is its planned session. The key of a score
   * is its planned session and its scorer.
   */
  readonly results: ReadonlyMap<string, KeptResult>;
}

/** The newest run or score with its key, and the item that contains it. */
interface KeptResult {
  readonly item: string;
  readonly run?: StoredRun;
  readonly score?: Score;
  /** The usage of this score and of the scores that it replaced. */
  readonly spent?: Usage;
}

/** Maximum number of runs and scores of one experiment that are kept in memory. */
const maxResults = 100_000;
/** Maximum length of a kept reason, in UTF-16 units. The session has the whole text. */
const maxReasonLength = 1000;
const maxVotes = 64;

/**
 * Collects the results of an experiment. `fold` is a pure function, so a program can keep a value and continue with
 * the records after `through`.
 */
export const experimentFold: {
  readonly empty: StoredExperiment;
  fold(before: StoredExperiment, records: readonly LogRecord[]): StoredExperiment;
} = {
  empty: { through: 0, isWhole: true, plan: undefined, results: new Map() },
  fold(before, records) {
    const results = new Map(before.results);
    let { plan, isWhole, through } = before;
    for (const { offset, delta, fact } of records) {
      through = offset;
      if (fact?.type === 'item_redacted') {
        for (const [key, { item }] of results) if (item === fact.itemId) results.delete(key);
        if (plan?.item === fact.itemId) plan = undefined;
      }
      if (delta?.type !== 'commit_part' || delta.part === undefined) continue;
      const item = delta.itemId;
      const result = readResult(delta.part);
      if (result?.type === 'plan') plan = { item, value: { ...result.plan, cases: [] } };
      else if (result?.type === 'cases') plan = withCases(plan, item, result.cases);
      else if (result !== undefined && results.size < maxResults) keep(results, item, result);
      else if (result !== undefined) isWhole = false;
    }
    return { through, isWhole, plan, results };
  },
};

function withCases(
  plan: StoredExperiment['plan'],
  item: string,
  cases: readonly StoredCase[],
): StoredExperiment['plan'] {
  if (plan?.item !== item) return plan;
  const { value } = plan;
  const all = [...value.cases, ...cases];
  // A plan that no experiment can have is ignored.
  if (all.length * value.variants.length * value.repeats > experimentLimits.runs) return undefined;
  return { item, value: { ...value, cases: all } };
}

function keep(results: Map<string, KeptResult>, item: string, result: StoredResult): void {
  if (result.type === 'run') {
    const key = `run ${result.run.planned}`;
    // The newest run comes last, even if it replaces an older one.
    results.delete(key);
    results.set(key, { item, run: result.run });
  }
  if (result.type !== 'score') return;
  const { planned, scorer, score } = result.score;
  const key = `${scorer} ${planned}`;
  const spent = sumOf(results.get(key)?.spent, score.usage);
  results.set(key, { item, score: shortened(score), spent });
}

/** Most scores have no usage. Then nothing is added. */
function sumOf(one: Usage = noUsage, other: Usage = noUsage): Usage {
  if (other === noUsage) return one;
  return one === noUsage ? other : addUsage(one, other);
}

/** Removes everything from a score that can be long, except the votes of judges. */
function shortened({ value, reason, details, usage }: Score): Score {
  const votes = (details as { readonly votes?: unknown } | null | undefined)?.votes;
  return {
    value,
    ...(typeof reason === 'string' && { reason: reason.slice(0, maxReasonLength) }),
    ...(Array.isArray(votes) && { details: { votes: votes.slice(0, maxVotes) } }),
    ...(usage && { usage }),
  };
}

/**
 * Reads the report of an experiment from the log, without running anything. A run whose result is missing is `open`.
 * Reasons have at most 1,000 characters, and `details` contains only the votes of judges. Returns undefined if the
 * log has no such experiment.
 *
 * @example
 * const report = await readExperiment(log, 'refunds');
 */
export async function readExperiment(
  log: Log,
  name: string,
): Promise<ExperimentReport | undefined> {
  const session = sessionId(`eval/${name}`);
  const info = isExperimentName(name) ? await log.info(session) : undefined;
  if (info === undefined) return undefined;
  let stored = experimentFold.empty;
  while (stored.through < info.through) {
    const { incarnation } = info;
    const { records, through } = await log.read(session, { from: stored.through, incarnation });
    if (through <= stored.through) break;
    stored = { ...experimentFold.fold(stored, records), through };
  }
  return storedReport(name, stored);
}

/** Creates the report of an experiment from its results. */
export function storedReport(name: string, stored: StoredExperiment): ExperimentReport {
  const session = `eval/${name}`;
  const { results } = stored;
  const planned =
    stored.plan === undefined
      ? storedRuns(session, results)
      : plannedRuns(session, stored.plan.value);
  const plan = stored.plan?.value ?? planOf(planned, results);
  const scorersOf = (variant: string) => plan.scorers.filter(({ against }) => against !== variant);
  const runOf = (place: string) => {
    const run = results.get(`run ${place}`)?.run;
    // An imported session can name any session. Links lead only to sessions of the experiment.
    return run?.session.startsWith(`${session}/`) ? run : undefined;
  };
  const placeOf = ({ variant, case: id, repeat }: RunKey) => `${variant}/${repeat}/${id}`;
  const failed = new Set(
    planned.flatMap((run) => (runOf(run.session)?.isFailed === true ? placeOf(run) : [])),
  );
  const runs = planned.map(({ session: place, ...key }): RunReport => {
    const run = runOf(place);
    const open = {
      ...key,
      session: place,
      status: 'open',
      isReused: false,
      durationMs: 0,
    } as const;
    if (run === undefined) return { ...open, usage: noUsage, scoreUsage: noUsage, scores: {} };
    const { isFailed, stop, error, usage, durationMs } = run;
    const scores: [string, Score][] = [];
    let scoreUsage: Usage = noUsage;
    let isScored = true;
    for (const { name: scorer, against } of scorersOf(key.variant)) {
      const { score, spent } = results.get(`${scorer} ${place}`) ?? {};
      scoreUsage = sumOf(scoreUsage, spent);
      const found = isFailed ? failedScore : score;
      if (found !== undefined) scores.push([scorer, found]);
      // A pair is not scored if the run of the other variant failed.
      const isPossible =
        against === undefined || !failed.has(placeOf({ ...key, variant: against }));
      if (found === undefined && isPossible) isScored = false;
    }
    return {
      ...{ ...key, session: run.session, isReused: false, stop, usage, scoreUsage, durationMs },
      status: isFailed ? 'failed' : isScored ? 'finished' : 'open',
      ...(isFailed && { error: typeof error?.message === 'string' ? error.message : stop }),
      scores: Object.fromEntries(scores),
    };
  });
  const variants = plan.variants.map((variant) => variant.name);
  return experimentReport({ ...plan, name, session, variants }, runs, undefined);
}

type Planned = RunKey & { readonly session: string };

/** Returns the runs of a plan in the order of the matrix, with their planned sessions. */
function plannedRuns(session: string, plan: StoredPlan): readonly Planned[] {
  const { variants, cases, repeats } = plan;
  return Array.from({ length: repeats }, (_, index) => index + 1).flatMap((repeat) =>
    cases.flatMap(([id, caseHash]) =>
      variants.map(({ name: variant, hash }): Planned => {
        const key = { variant, case: id, repeat };
        return { ...key, session: runSessionId(session, key, `${hash}${caseHash}`) };
      }),
    ),
  );
}

/** Returns the newest run of each place of the matrix. Used if the log has no plan of the experiment. */
function storedRuns(session: string, results: StoredExperiment['results']): readonly Planned[] {
  const runs = new Map<string, Planned>();
  for (const { run } of results.values()) {
    if (!run?.planned.startsWith(`${session}/`)) continue;
    const { variant, case: id, repeat, planned } = run;
    runs.set(`${variant}/${repeat}/${id}`, { variant, case: id, repeat, session: planned });
  }
  return [...runs.values()];
}

function planOf(
  runs: readonly Planned[],
  results: StoredExperiment['results'],
): Pick<StoredPlan, 'baseline' | 'scorers' | 'confidence'> & {
  readonly variants: readonly { readonly name: string }[];
} {
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  const scorers = new Set<string>();
  for (const [key, { score }] of results)
    if (score !== undefined) scorers.add(key.slice(0, key.indexOf(' ')));
  const named = (names: Iterable<string>) => [...names].map((name) => ({ name }));
  const [baseline = ''] = variants;
  return { baseline, variants: named(variants), scorers: named(scorers), confidence: 0.95 };
}
