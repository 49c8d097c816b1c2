import { compareDecimals, noUsage } from '@millrace/core';
import { AgentError, textOfError } from '../contract/agent-error.ts';
import type {
  EvaluatedRun,
  ExperimentOptions,
  ExperimentReport,
  RunKey,
  RunReport,
  Score,
} from './experiment.ts';
import { ExperimentLog } from './experiment-log.ts';
import {
  type ExperimentPlan,
  hashOf,
  type PlannedRun,
  type PlannedScorer,
  planExperiment,
} from './experiment-plan.ts';
import { experimentReport, failedScore } from './report.ts';
import { type EndedSession, endSession, isStopped } from './run-session.ts';
import { checkedScore, evaluatedRun } from './score-session.ts';
import type { StoredRun } from './stored-results.ts';

/**
 * Runs an experiment: each variant answers each case, and the scorers score the answers. Each run is a session of
 * the log, and the session `eval/<name>` has the results.
 *
 * The call can be repeated at any time, even after a crash. It continues interrupted runs, and it sends no request
 * for an answer that the log already has. Runs of a changed case or of a variant with changed settings are new.
 *
 * @example
 * const report = await runExperiment({ name: 'refunds', log, variants: { brief, kind }, cases, scorers });
 */
export async function runExperiment(options: ExperimentOptions): Promise<ExperimentReport> {
  const plan = await planExperiment(options);
  const results = await ExperimentLog.open(options.log, plan.session);
  try {
    await results.addPlan(plan.stored);
    return await new ExperimentRun(plan, results).run();
  } finally {
    await results.close().catch(() => {});
  }
}

class ExperimentRun {
  readonly #plan: ExperimentPlan;
  readonly #results: ExperimentLog;
  /** Aborts when the caller stops the experiment, or when the log fails. */
  readonly #stop = new AbortController();
  #stoppedBy: ExperimentReport['stoppedBy'];
  #failure: { readonly error: unknown } | undefined;
  #done = 0;
  /** The runs that had already ended before this call. */
  readonly #reused = new Set<string>();
  /** The failed runs of earlier calls that this call still has to repeat. */
  readonly #toRepeat = new Set<string>();
  /** The runs by variant, case and repeat. */
  readonly #planned: ReadonlyMap<string, PlannedRun>;
  /** Why scores of a run are missing. */
  readonly #problems = new Map<string, string>();

  constructor(plan: ExperimentPlan, results: ExperimentLog) {
    this.#plan = plan;
    this.#results = results;
    this.#planned = new Map(plan.runs.map((run) => [placeOf(run), run]));
  }

  async run(): Promise<ExperimentReport> {
    const { runs, options, scorers } = this.#plan;
    const { signal } = options;
    const onAbort = () => {
      this.#stoppedBy = 'signal';
      this.#stop.abort(new AgentError('left', 'The experiment was stopped'));
    };
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted) onAbort();
    this.#results.lost.then((error) => this.#fail(error)).catch(() => {});
    for (const { session } of runs) {
      const stored = this.#results.run(session);
      const isRepeated = options.retryFailed === true && stored?.isFailed === true;
      if (stored !== undefined) (isRepeated ? this.#toRepeat : this.#reused).add(session);
    }
    const alone = scorers.filter(({ scorer }) => scorer.against === undefined);
    const pairs = scorers.filter(({ scorer }) => scorer.against !== undefined);
    try {
      await this.#forEach(runs, async (run) => {
        await this.#endAndScore(run, alone);
        if (pairs.length === 0) await this.#tell(run);
      });
      if (pairs.length > 0)
        await this.#forEach(runs, async (run) => {
          await this.#endAndScore(run, pairs);
          await this.#tell(run);
        });
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    const reports: RunReport[] = [];
    for (const run of runs) reports.push(await this.#reportOf(run));
    const named = { ...this.#plan, name: options.name, scorers: scorers.map((one) => one.scorer) };
    return experimentReport(named, reports, this.#stoppedBy);
  }

  /** Works on all runs, with several workers. A failure of the log stops all of them. */
  async #forEach(
    runs: readonly PlannedRun[],
    work: (run: PlannedRun) => Promise<void>,
  ): Promise<void> {
    const queue = runs.values();
    const worker = async () => {
      for (const run of queue) {
        if (this.#stop.signal.aborted) return;
        try {
          await work(run);
        } catch (error) {
          if (!isStopped(error) && !this.#stop.signal.aborted) this.#fail(error);
        }
      }
    };
    await Promise.all(Array.from({ length: this.#plan.concurrency }, worker));
  }

  /** Ends a run and computes its missing scores. */
  async #endAndScore(run: PlannedRun, scorers: readonly PlannedScorer[]): Promise<void> {
    const known = this.#storedRun(run);
    // The session is read only if something needs its content.
    let ended: Promise<EndedSession> | undefined;
    const end = () => {
      ended ??= this.#endRun(run);
      return ended;
    };
    if (known === undefined) {
      if (this.#isTooExpensive()) return;
      await end();
    }
    if (this.#results.run(run.session)?.isFailed) return;
    for (const planned of scorers) {
      const { scorer } = planned;
      if (scorer.against === run.variant) continue;
      const hash = await this.#hashOf(run, planned);
      const place = { planned: run.session, scorer: scorer.name, hash };
      if (this.#results.score(place) !== undefined) continue;
      const score = await this.#scoreOf(run, planned, { ended: await end(), hash });
      if (score !== undefined) await this.#results.addScore({ ...place, score }, run);
    }
  }

  async #endRun(run: PlannedRun): Promise<EndedSession> {
    const { options } = this.#plan;
    const isKnown = this.#storedRun(run) !== undefined;
    const isRepeated = this.#toRepeat.has(run.session);
    const ended = await endSession(run.settings, {
      ...{ session: run.session, input: run.evalCase.input, leave: this.#stop.signal },
      context: options.context?.(keyOf(run), run.evalCase),
      retryFailed: isRepeated,
    });
    if (isKnown) return ended;
    const { session, result, isFailed, error, durationMs, isReused } = ended;
    if (isReused) this.#reused.add(run.session);
    this.#toRepeat.delete(run.session);
    await this.#results.addRun({
      ...{ ...keyOf(run), planned: run.session, session, stop: result.reason, isFailed, error },
      ...{ usage: result.usage, durationMs },
    });
    return ended;
  }

  /** Returns the stored end of a run. A failed run that is repeated has none. */
  #storedRun({ session }: PlannedRun): StoredRun | undefined {
    return this.#toRepeat.has(session) ? undefined : this.#results.run(session);
  }

  /** Calls a scorer. Returns undefined if the scorer fails. The next call of `runExperiment` tries again. */
  async #scoreOf(
    run: PlannedRun,
    { scorer }: PlannedScorer,
    { ended, hash }: { readonly ended: EndedSession; readonly hash: string },
  ): Promise<Score | undefined> {
    const { log } = this.#plan.options;
    try {
      const other = await this.#otherRun(run, scorer.against);
      if (scorer.against !== undefined && other === undefined) return undefined;
      const session = `${run.session}/${scorer.name}/${hash}`;
      const context = { log, session, signal: this.#stop.signal, other };
      return checkedScore(
        scorer.name,
        await scorer.score(evaluatedRun(runOf(run), ended), context),
      );
    } catch (error) {
      if (isStopped(error) || this.#stop.signal.aborted) throw error;
      this.#problems.set(run.session, `${scorer.name}: ${textOfError(error)}`);
      return undefined;
    }
  }

  /** Returns the run of the same case and repeat that a pairwise scorer compares with. */
  async #otherRun(run: PlannedRun, against: string | undefined): Promise<EvaluatedRun | undefined> {
    if (against === undefined) return undefined;
    const other = this.#otherOf(run, against);
    if (other === undefined || this.#results.run(other.session)?.isFailed !== false)
      return undefined;
    return evaluatedRun(runOf(other), await this.#endRun(other));
  }

  #otherOf(run: PlannedRun, against: string): PlannedRun | undefined {
    return this.#planned.get(placeOf({ ...run, variant: against }));
  }

  /** A score depends on the scorer, on the expected answer, and on the session that a pair is compared with. */
  #hashOf(run: PlannedRun, { scorer, hash }: PlannedScorer): Promise<string> {
    const other = scorer.against === undefined ? undefined : this.#otherOf(run, scorer.against);
    const session = this.#results.run(run.session)?.session ?? run.session;
    return hashOf([hash, run.evalCase.expected ?? null, session, other?.session ?? null]);
  }

  async #tell(run: PlannedRun): Promise<void> {
    const report = await this.#reportOf(run);
    this.#done++;
    const { options, runs } = this.#plan;
    options.onRun?.(report, { done: this.#done, total: runs.length });
  }

  async #reportOf(run: PlannedRun): Promise<RunReport> {
    const { scorers } = this.#plan;
    const stored = this.#results.run(run.session);
    const shared = {
      ...keyOf(run),
      isReused: this.#reused.has(run.session),
      scoreUsage: this.#results.scoreUsage(run.session),
    };
    if (stored === undefined) {
      const nothing = { usage: noUsage, durationMs: 0, scores: {} };
      return { ...shared, ...nothing, status: 'open', session: run.session };
    }
    const { session, stop, isFailed, usage, durationMs } = stored;
    const scores = new Map<string, Score>();
    let isScored = true;
    for (const planned of scorers) {
      const { name, against } = planned.scorer;
      if (against === run.variant) continue;
      const place = { planned: run.session, scorer: name, hash: await this.#hashOf(run, planned) };
      const score = isFailed ? failedScore : this.#results.score(place);
      if (score !== undefined) scores.set(name, score);
      const isPossible = against === undefined || !this.#isOtherFailed(run, against);
      if (score === undefined && isPossible) isScored = false;
    }
    const error = isFailed ? (stored.error?.message ?? stop) : this.#problems.get(run.session);
    const status = isFailed ? 'failed' : isScored ? 'finished' : 'open';
    const found = { scores: Object.fromEntries(scores) };
    return { ...shared, ...found, status, session, stop, error, usage, durationMs };
  }

  /** A pair is not scored if the run of the other variant failed. */
  #isOtherFailed(run: PlannedRun, against: string): boolean {
    const other = this.#otherOf(run, against);
    return other !== undefined && this.#results.run(other.session)?.isFailed === true;
  }

  #isTooExpensive(): boolean {
    const { maxCost } = this.#plan.options;
    if (maxCost === undefined) return false;
    const { costs } = this.#results.spent;
    const spent = costs.find(({ currency }) => currency === maxCost.currency);
    if (spent === undefined || compareDecimals(spent.amount, maxCost.amount) < 0) return false;
    this.#stoppedBy ??= 'max_cost';
    return true;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stop.abort(new AgentError('left', 'The experiment was stopped', {}, { cause: error }));
  }
}

/** The name of a variant has no slash, so two runs never have the same text. */
function placeOf({ variant, case: id, repeat }: RunKey): string {
  return `${variant}/${repeat}/${id}`;
}

function keyOf({ variant, case: id, repeat }: PlannedRun): RunKey {
  return { variant, case: id, repeat };
}

function runOf({
  variant,
  evalCase,
  repeat,
}: PlannedRun): Pick<EvaluatedRun, 'variant' | 'case' | 'repeat'> {
  return { variant, case: evalCase, repeat };
}
