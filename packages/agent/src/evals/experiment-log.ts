import {
  addUsage,
  type ErrorInfo,
  type Item,
  isDecimal,
  isJsonObject,
  itemId,
  type JsonObject,
  noUsage,
  randomIds,
  sessionId,
  toArray,
  toItem,
  type Usage,
} from '@millrace/core';
import { type Driver, type Log, sessionStates } from '@millrace/log';
import { itemDrafts } from '../state/drafts.ts';
import type { RunKey, Score } from './experiment.ts';

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

/** The name of the parts that contain the results. */
const resultPart = 'millrace.eval';

/**
 * The session of an experiment: one item for each run that has ended, and one for each score. Only the process
 * that holds the lease of the session writes to it, so two processes cannot run the same experiment.
 */
export class ExperimentLog {
  readonly #driver: Driver;
  readonly #runs = new Map<string, StoredRun>();
  readonly #scores = new Map<string, StoredScore>();
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
    const driver = await log.open(sessionId(session), { holder: 'experiment' });
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

  addRun(run: StoredRun): Promise<void> {
    const { variant, case: id, repeat, stop, error } = run;
    const why = error === undefined ? '' : ` (${error.code})`;
    const text = `Run ${repeat} of ${variant} in case ${id}: ${stop}${why}`;
    return this.#add(text, { type: 'run', ...asJson(run) });
  }

  addScore(score: StoredScore, { variant, case: id, repeat }: RunKey): Promise<void> {
    const text = `Score of run ${repeat} of ${variant} in case ${id}: ${score.scorer} ${score.score.value}`;
    return this.#add(text, { type: 'score', ...asJson(score) });
  }

  /** Releases the lease. */
  async close(): Promise<void> {
    await this.#last.catch(() => {});
    await this.#driver.release();
  }

  async #add(text: string, value: JsonObject): Promise<void> {
    const item: Item = {
      id: itemId(this.#ids.item()),
      kind: 'notification',
      parts: [
        { kind: 'text', text },
        { kind: 'custom', name: resultPart, value },
      ],
    };
    const drafts = itemDrafts([item], this.#ids);
    const appended = this.#last.then(() => this.#driver.append(drafts));
    this.#last = appended.catch(() => {});
    await appended;
    this.#read(item);
  }

  #read({ parts }: Item): void {
    for (const part of parts) {
      if (part.kind !== 'custom' || part.name !== resultPart || !isJsonObject(part.value)) continue;
      const { type, ...rest } = part.value;
      const value: unknown = rest;
      if (type === 'run' && isStoredRun(value)) this.#keepRun(value);
      if (type === 'score' && isStoredScore(value)) this.#keepScore(value);
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

/** Fields without a value disappear, because JSON has no undefined. */
function asJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

function isStoredRun(value: unknown): value is StoredRun {
  const run = value as Partial<StoredRun>;
  return (
    typeof run.planned === 'string' &&
    typeof run.session === 'string' &&
    typeof run.stop === 'string' &&
    typeof run.durationMs === 'number' &&
    isUsage(run.usage)
  );
}

function isStoredScore(value: unknown): value is StoredScore {
  const { planned, scorer, hash, score } = value as Partial<StoredScore>;
  const areTexts = [planned, scorer, hash].every((text) => typeof text === 'string');
  const isScore = typeof score?.value === 'number' && score.value >= 0 && score.value <= 1;
  return areTexts && isScore && (score.usage === undefined || isUsage(score.usage));
}

/** Sums of costs need valid decimals. Another program can write to the session, so the form is checked. */
function isUsage(usage: Usage | undefined): boolean {
  const { input, output, cacheRead, cacheWrite, reasoning, costs } = usage ?? {};
  const counts: readonly unknown[] = [input, output, cacheRead, cacheWrite, reasoning];
  const isCost = (cost: unknown) => {
    const { amount, currency } = (cost ?? {}) as Record<string, unknown>;
    return typeof amount === 'string' && isDecimal(amount) && typeof currency === 'string';
  };
  return counts.every(Number.isFinite) && Array.isArray(costs) && costs.every(isCost);
}
