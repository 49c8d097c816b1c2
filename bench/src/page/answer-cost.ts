import type { MeasuredTab, Metrics, Smoothness } from './measured-tab.ts';

/** Milliseconds of the main thread per 1,000 deltas. */
export interface Cost {
  readonly task: number;
  readonly script: number;
}

export interface AnswerCost {
  readonly first: Cost;
  readonly last: Cost;
  /** The mean cost of all deltas until the last one is shown. It includes deferred work. */
  readonly mean: Cost;
  readonly perSecond: number;
  readonly smoothness: Smoothness;
}

/** Measures a tab while an answer streams into it. Call `onWord` for each word. */
export class AnswerMeter {
  readonly #tab: MeasuredTab;
  readonly #deltas: number;
  readonly #marks: readonly number[];
  readonly #metrics = new Map<number, Promise<Metrics>>();
  #from = 0;
  #to = 0;
  readonly #streamed = Promise.withResolvers<void>();

  constructor(tab: MeasuredTab, deltas: number) {
    this.#tab = tab;
    this.#deltas = deltas;
    this.#marks = [1, 1000, deltas - 1000, deltas];
  }

  readonly onWord = (count: number): void => {
    if (count === 1) this.#from = performance.now();
    if (count === this.#deltas) {
      this.#to = performance.now();
      this.#streamed.resolve();
    }
    if (this.#marks.includes(count)) this.#metrics.set(count, this.#tab.metrics());
  };

  /**
   * Resolves when the last word has arrived. Do not query the page before that, because queries
   * have a cost too.
   */
  get streamed(): Promise<void> {
    return this.#streamed.promise;
  }

  /** Returns the cost of the answer. Call it when the last word is shown. */
  async cost(): Promise<AnswerCost> {
    const end = await this.#tab.metrics();
    const smoothness = await this.#tab.smoothness();
    const [a, b, c, d] = await Promise.all(this.#marks.map(async (at) => this.#metrics.get(at)));
    const perSecond = Math.round(this.#deltas / ((this.#to - this.#from) / 1000));
    const all = between(a, end);
    const share = 1000 / this.#deltas;
    const mean = { task: all.task * share, script: all.script * share };
    return { first: between(a, b), last: between(c, d), mean, perSecond, smoothness };
  }
}

function between(before: Metrics | undefined, after: Metrics | undefined): Cost {
  const ms = (name: string) => 1000 * ((after?.[name] ?? 0) - (before?.[name] ?? 0));
  return { task: ms('TaskDuration'), script: ms('ScriptDuration') };
}
