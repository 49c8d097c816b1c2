import type { MeasuredTab, Metrics } from './measured-tab.ts';
import { deltas } from './page-words.ts';

/** What 1,000 deltas cost the main thread, in milliseconds. */
export interface Cost {
  readonly task: number;
  readonly script: number;
}

export interface AnswerCost {
  readonly first: Cost;
  readonly last: Cost;
  /** Of all of them, until the last was shown: what is put off counts here too. */
  readonly mean: Cost;
  readonly perSecond: number;
}

const marks = [1, 1000, deltas - 1000, deltas] as const;

/** Looks at a tab while an answer streams into it: `onWord` has to hear of each word. */
export class AnswerWatch {
  readonly #tab: MeasuredTab;
  readonly #read = new Map<number, Promise<Metrics>>();
  #from = 0;
  #to = 0;
  readonly #said = Promise.withResolvers<void>();

  constructor(tab: MeasuredTab) {
    this.#tab = tab;
  }

  readonly onWord = (count: number): void => {
    if (count === 1) this.#from = performance.now();
    if (count === deltas) {
      this.#to = performance.now();
      this.#said.resolve();
    }
    if ((marks as readonly number[]).includes(count)) this.#read.set(count, this.#tab.metrics());
  };

  /** Resolves with the last word. Until then nobody is to look at the page, because looking costs too. */
  get said(): Promise<void> {
    return this.#said.promise;
  }

  /** When the last word is shown. */
  async cost(): Promise<AnswerCost> {
    const end = await this.#tab.metrics();
    const [a, b, c, d] = await Promise.all(marks.map(async (mark) => this.#read.get(mark)));
    const perSecond = Math.round(deltas / ((this.#to - this.#from) / 1000));
    const all = between(a, end);
    const mean = { task: (all.task * 1000) / deltas, script: (all.script * 1000) / deltas };
    return { first: between(a, b), last: between(c, d), mean, perSecond };
  }
}

function between(before: Metrics | undefined, after: Metrics | undefined): Cost {
  const ms = (name: string) => 1000 * ((after?.[name] ?? 0) - (before?.[name] ?? 0));
  return { task: ms('TaskDuration'), script: ms('ScriptDuration') };
}
