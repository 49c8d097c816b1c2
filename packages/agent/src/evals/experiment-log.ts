import {
  addUsage,
  type Item,
  itemId,
  noUsage,
  randomIds,
  sessionId,
  toArray,
  toItem,
  type Usage,
} from '@millrace/core';
import { type Driver, type Log, LogError, sessionStates } from '@millrace/log';
import { itemDrafts } from '../state/drafts.ts';
import type { RunKey, Score } from './experiment.ts';
import {
  planResults,
  readResult,
  resultParts,
  type StoredPlan,
  type StoredResult,
  type StoredRun,
  type StoredScore,
} from './stored-results.ts';

/**
 * The session of an experiment: one item for each run that has ended, and one for each score. Only the process
 * that holds the lease of the session writes to it, so two processes cannot run the same experiment.
 */
export class ExperimentLog {
  readonly #driver: Driver;
  readonly #runs = new Map<string, StoredRun>();
  readonly #scores = new Map<string, StoredScore>();
  #planHash: string | undefined;
  /** The usage of all runs and scores, also of those that later ones replaced. */
  #spent: Usage = noUsage;
  /** The usage of the scores by run, also of scores that a later score replaced. */
  readonly #scoreUsage = new Map<string, Usage>();
  readonly #ids = randomIds((bytes) => crypto.getRandomValues(bytes));
  /** Appends wait for each other, because a driver has one append at a time. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** Takes the lease of the session and reads the results. Rejects with `held` if another process has the lease. */
  static async open(log: Log, session: string): Promise<ExperimentLog> {
    const driver = await log
      .open(sessionId(session), { holder: 'experiment' })
      .catch((error: unknown) => {
        throw error instanceof LogError && error.code === 'held' ? runsElsewhere(error) : error;
      });
    const opened = new ExperimentLog(driver);
    const { state } = await sessionStates(log).load(sessionId(session));
    for (const item of toArray(state.items)) opened.#read(toItem(item));
    return opened;
  }

  /** Resolves when another process took the lease. */
  get lost(): Promise<Error> {
    return this.#driver.lost;
  }

  /** Finds the stored end of a run. */
  run(planned: string): StoredRun | undefined {
    return this.#runs.get(planned);
  }

  /** Finds a stored score with the same hash. */
  score({ planned, scorer, hash }: Omit<StoredScore, 'score'>): Score | undefined {
    const stored = this.#scores.get(`${planned} ${scorer}`);
    return stored?.hash === hash ? stored.score : undefined;
  }

  /** The usage of all runs and scores of all calls. */
  get spent(): Usage {
    return this.#spent;
  }

  /** Returns the usage of all models that scored a run. */
  scoreUsage(planned: string): Usage {
    return this.#scoreUsage.get(planned) ?? noUsage;
  }

  /** Stores the matrix, unless it is the last stored one. Readers need it to select the runs of a report. */
  async addPlan(plan: StoredPlan): Promise<void> {
    if (plan.hash === this.#planHash) return;
    const { variants, cases, repeats } = plan;
    const text = `${variants.length} variants × ${cases.length} cases × ${repeats} repeats`;
    await this.#add(text, planResults(plan));
  }

  addRun(run: StoredRun): Promise<void> {
    const { variant, case: id, repeat, stop, error } = run;
    const why = error === undefined ? '' : ` (${error.code})`;
    const text = `Run ${repeat} of ${variant} in case ${id}: ${stop}${why}`;
    return this.#add(text, [{ type: 'run', run }]);
  }

  addScore(score: StoredScore, { variant, case: id, repeat }: RunKey): Promise<void> {
    const text = `Score of run ${repeat} of ${variant} in case ${id}: ${score.scorer} ${score.score.value}`;
    return this.#add(text, [{ type: 'score', score }]);
  }

  /** Releases the lease. */
  async close(): Promise<void> {
    await this.#last.catch(() => {});
    await this.#driver.release();
  }

  async #add(text: string, results: readonly StoredResult[]): Promise<void> {
    const item: Item = {
      id: itemId(this.#ids.item()),
      kind: 'notification',
      parts: [{ kind: 'text', text }, ...resultParts(results)],
    };
    const drafts = itemDrafts([item], this.#ids);
    const appended = this.#last.then(() => this.#driver.append(drafts));
    this.#last = appended.catch(() => {});
    await appended;
    this.#read(item);
  }

  #read({ parts }: Item): void {
    for (const part of parts) {
      const result = readResult(part);
      if (result?.type === 'plan') this.#planHash = result.plan.hash;
      if (result?.type === 'run') this.#keepRun(result.run);
      if (result?.type === 'score') this.#keepScore(result.score);
    }
  }

  #keepRun(run: StoredRun): void {
    this.#runs.set(run.planned, run);
    this.#spent = addUsage(this.#spent, run.usage);
  }

  #keepScore(stored: StoredScore): void {
    const { planned, scorer, score } = stored;
    const { usage = noUsage } = score;
    this.#scores.set(`${planned} ${scorer}`, stored);
    this.#scoreUsage.set(planned, addUsage(this.scoreUsage(planned), usage));
    this.#spent = addUsage(this.#spent, usage);
  }
}

function runsElsewhere(cause: LogError): LogError {
  const message = `Cannot run the experiment of session ${cause.place['session']}: another process runs it. Wait until that process ends, and start the experiment again. Runs that ended are not repeated`;
  return new LogError('held', message, cause.place, { cause });
}
