import {
  type CaseComparison,
  type ComparedCase,
  compareVariants,
  type ExperimentReport,
  experimentFold,
  type RunReport,
  type ScoreDifference,
  type StoredExperiment,
  storedReport,
  type VariantReport,
} from '@millrace/agent/evals';
import { type Cost, isId, sessionId } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import type { TasksService } from '../../contract/service.ts';
import { foldCacheFor } from '../../inspection/fold-cache.ts';
import { isFound, isNotFound, notFoundError } from '../../stores/row-access.ts';
import type {
  CaseComparisonReply,
  CaseQuery,
  ExperimentInfo,
  ExperimentList,
} from './experiment-schemas.ts';

interface Sources {
  readonly log: Log;
  /** The tasks that the caller may read. */
  readonly tasks: Pick<TasksService, 'get'>;
  readonly clock: Pick<Clock, 'now'>;
}

interface ListSources extends Sources {
  /** The only session that the caller may read. Undefined if the caller is not restricted to one session. */
  readonly onlySession: string | undefined;
}

const prefix = 'eval/';
const nameForm = /^[\w.-]{1,64}$/;
/** Maximum time in which a list reads results. Experiments after it are listed without results. */
const maxReadMs = 1000;
/** Maximum number of sessions that one step of the search for experiments reads, and of steps for one page. */
const [sessionsPerStep, stepsPerPage] = [16, 400];
const [maxRunsPerCase, maxTextLength] = [10, 1000];

const resultsFor = foldCacheFor<StoredExperiment>(experimentFold);
/** A report belongs to one state of the results, so requests without new results share it. */
const reports = new WeakMap<StoredExperiment, ExperimentReport>();

/** Lists the experiments whose session the caller may read. */
export async function listExperiments(
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
  sources: ListSources,
): Promise<ExperimentList> {
  const { names, next } = await experimentNames(sources, cursor, limit);
  const deadline = sources.clock.now() + maxReadMs;
  const data: ExperimentInfo[] = [];
  for (const name of names) {
    try {
      const isLate = sources.clock.now() > deadline;
      data.push(isLate ? await unreadInfo(name, sources) : await experimentInfo(name, sources));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return { data, next };
}

/** Returns the results of an experiment. Throws `not_found` if the caller may not read its session. */
export async function experimentInfo(name: string, sources: Sources): Promise<ExperimentInfo> {
  const { report, isWhole } = await readReport(name, sources);
  const { variants, runs, baseline } = report;
  return {
    ...(await unreadInfo(name, sources)),
    ...{ is_complete: report.isComplete, is_whole: isWhole },
    cases: new Set(runs.map((run) => run.case)).size,
    runs: runs.length,
    ended: runs.filter(hasEnded).length,
    failed: runs.filter(({ status }) => status === 'failed').length,
    scorers: scorersOf(report),
    variants: variants.map((variant) => variantInfo(variant, baseline, runs)),
  };
}

/** Compares two variants case by case. */
export async function compareCases(
  name: string,
  query: CaseQuery,
  sources: Sources,
): Promise<CaseComparisonReply> {
  const { limit, page_number: page, change, other_experiment: otherName = name } = query;
  const { report, isWhole } = await readReport(name, sources);
  const before = otherName === name ? { report, isWhole } : await readReport(otherName, sources);
  const names = report.variants.map((variant) => variant.name);
  const changed = names.find((variant) => variant !== report.baseline);
  const variant = query.variant ?? changed ?? report.baseline;
  const known = before.report.variants.map((one) => one.name);
  const same = known.includes(variant) ? variant : before.report.baseline;
  const other = query.other ?? (otherName === name ? report.baseline : same);
  if (names.length > 0) assertVariant(name, variant, names);
  if (known.length > 0) assertVariant(otherName, other, known);
  const scorer = query.scorer ?? scorersOf(report)[0];
  const isAlone = otherName === name && other === variant;
  const a = { report: before.report, variant: other };
  const compared = compareVariants(a, { report, variant }, scorer ?? '');
  const selected = compared.cases.filter((one) => change === undefined || one.change === change);
  const { difference } = compared;
  return {
    a: isAlone ? null : { experiment: otherName, variant: other },
    b: { experiment: name, variant },
    ...{ scorer: scorer ?? null, is_whole: isWhole && before.isWhole },
    counts: { ...compared.counts },
    difference: difference === undefined || isAlone ? null : differenceInfo(difference),
    total: selected.length,
    data: selected
      .slice((page - 1) * limit, page * limit)
      .map((one) => caseInfo(one, scorer, isAlone)),
  };
}

interface ReadReport {
  readonly report: ExperimentReport;
  readonly isWhole: boolean;
}

async function readReport(name: string, { log, tasks }: Sources): Promise<ReadReport> {
  const session = sessionOf(name);
  await tasks.get({ id: session });
  const { state, isWhole } = await resultsFor(log).read(sessionId(session));
  const report = reports.get(state) ?? storedReport(name, state);
  reports.set(state, report);
  return { report, isWhole: isWhole && state.isWhole };
}

/** Returns what is known about an experiment before its results are read. */
async function unreadInfo(name: string, { log, tasks, clock }: Sources): Promise<ExperimentInfo> {
  const session = sessionOf(name);
  await tasks.get({ id: session });
  const info = await log.info(sessionId(session));
  if (info === undefined) throw notFoundError('experiment', name);
  return {
    ...{ name, session_id: session, changed_at: info.changedAt },
    is_running: info.lease !== undefined && info.lease.expiresAt > clock.now(),
    ...{ is_complete: false, is_whole: false, cases: 0, runs: 0, ended: 0, failed: 0 },
    ...{ scorers: [], variants: [] },
  };
}

function sessionOf(name: string): string {
  if (!nameForm.test(name)) throw notFoundError('experiment', isId(name) ? name : '');
  return `${prefix}${name}`;
}

interface NamePage {
  readonly names: readonly string[];
  /** The last of the names, if further names can follow. */
  readonly next: string | null;
}

/**
 * Finds the names of experiments after a name. The runs of an experiment are sessions after its own session. The
 * search skips them, so its cost depends on the number of experiments. A name that the caller may not read has no
 * effect on the page. If the search reaches its bound before it finds a readable name, the list ends.
 */
async function experimentNames(
  { log, tasks, onlySession }: ListSources,
  after: string | undefined,
  limit: number,
): Promise<NamePage> {
  let cursor = after === undefined ? prefix : `${prefix}${after}`;
  const isReadable = (name: string) => isFound(tasks.get({ id: `${prefix}${name}` }));
  if (onlySession !== undefined) {
    const name = nameIn(onlySession);
    const isFollowing = name !== undefined && onlySession > cursor && (await isReadable(name));
    return { names: isFollowing ? [name] : [], next: null };
  }
  const names: string[] = [];
  for (let step = 0; step < stepsPerPage; step++) {
    const found = await log.list({ after: cursor, limit: sessionsPerStep });
    if (found.length === 0) return { names, next: null };
    for (const { session } of found) {
      if (!session.startsWith(prefix)) return { names, next: null };
      cursor = session;
      const name = nameIn(session);
      if (name !== undefined && (await isReadable(name))) names.push(name);
      if (names.length > limit) {
        const shown = names.slice(0, limit);
        return { names: shown, next: shown.at(-1) ?? null };
      }
      const [of = '', ...rest] = session.slice(prefix.length).split('/');
      // The names of variants have no character after this one.
      const end = `${prefix}${of}/~`;
      if (rest.length > 0 && end > session) {
        cursor = end;
        break;
      }
    }
  }
  return { names, next: names.at(-1) ?? null };
}

/** Returns the name of the experiment to which a session belongs. Returns undefined for all other sessions. */
function nameIn(session: string): string | undefined {
  const name = session.startsWith(prefix) ? session.slice(prefix.length) : '';
  return nameForm.test(name) ? name : undefined;
}

function assertVariant(experiment: string, variant: string, known: readonly string[]): void {
  if (known.includes(variant)) return;
  const message = `The experiment ${experiment} has no variant ${JSON.stringify(variant)}. Variants: ${known.join(', ')}`;
  throw new ServerError('not_found', message);
}

function scorersOf({ variants }: ExperimentReport): string[] {
  return [...new Set(variants.flatMap(({ scores }) => Object.keys(scores)))];
}

const hasEnded = ({ stop }: RunReport) => stop !== undefined;

function variantInfo(
  variant: VariantReport,
  baseline: string,
  runs: readonly RunReport[],
): ExperimentInfo['variants'][number] {
  const { name, usage, scoreUsage, scores } = variant;
  return {
    ...{ name, is_baseline: name === baseline, runs: variant.runs },
    ended: runs.filter((run) => run.variant === name && hasEnded(run)).length,
    ...{ failed: variant.failed, open: variant.open },
    ...{ input_tokens: usage.input, output_tokens: usage.output },
    ...{ costs: costsOf(usage.costs), score_costs: costsOf(scoreUsage.costs) },
    ...{ mean_ms: variant.meanDurationMs, p95_ms: variant.p95DurationMs },
    scores: Object.entries(scores).map(([scorer, score]) => ({
      ...{ scorer, mean: score.mean, interval: intervalInfo(score.interval) },
      ...{ pass_rate: score.passRate, cases: score.cases, runs: score.runs },
      difference: score.difference === undefined ? null : differenceInfo(score.difference),
    })),
  };
}

function differenceInfo({ mean, interval, cases }: ScoreDifference) {
  return { mean, interval: intervalInfo(interval), cases };
}

function intervalInfo(interval: ScoreDifference['interval']) {
  if (interval === undefined) return null;
  const { low, high, confidence } = interval;
  return { low, high, confidence };
}

function costsOf(costs: readonly Cost[]) {
  return costs.map(({ amount, currency }) => ({ amount, currency }));
}

type CaseInfo = CaseComparisonReply['data'][number];

function caseInfo(one: CaseComparison, scorer: string | undefined, isAlone: boolean): CaseInfo {
  const { change, difference, a, b } = one;
  return {
    ...{ case: one.case, change, difference: difference ?? null },
    a: isAlone ? null : sideInfo(a, scorer),
    b: sideInfo(b, scorer),
  };
}

function sideInfo({ mean, runs }: ComparedCase, scorer: string | undefined): CaseInfo['b'] {
  return {
    ...{ mean: mean ?? null, run_count: runs.length },
    runs: runs.slice(0, maxRunsPerCase).map((run) => {
      const { repeat, session, status, error, usage, durationMs } = run;
      const score = Object.hasOwn(run.scores, scorer ?? '') ? run.scores[scorer ?? ''] : undefined;
      return {
        ...{ repeat, session_id: session, status, duration_ms: durationMs },
        error: error?.slice(0, maxTextLength) ?? null,
        score: score?.value ?? null,
        reason: score?.reason?.slice(0, maxTextLength) ?? null,
        votes: votesOf(score?.details, run.session),
        ...{ input_tokens: usage.input, output_tokens: usage.output, costs: costsOf(usage.costs) },
      };
    }),
  };
}

/**
 * Returns the votes that a score names. Scores of imported sessions can have any content, so a vote counts only if
 * its session belongs to the run.
 */
function votesOf(details: unknown, run: string): CaseInfo['b']['runs'][number]['votes'] {
  const { votes } = (details ?? {}) as { readonly votes?: unknown };
  if (!Array.isArray(votes)) return [];
  // A further try of a run has the votes of the planned session.
  const planned = run.replace(/~\d+$/, '');
  return votes.flatMap((one: unknown) => {
    const { session, value, reason } = (one ?? {}) as Readonly<Record<string, unknown>>;
    const isOwn = typeof session === 'string' && session.startsWith(`${planned}/`);
    if (!isOwn || typeof value !== 'number') return [];
    const text = typeof reason === 'string' ? reason.slice(0, maxTextLength) : '';
    return { session_id: session, value, reason: text };
  });
}
