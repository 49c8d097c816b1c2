import { transcript } from '@millrace/core';
import type { Provider } from '@millrace/providers';
import { coverable, summaryPrompt } from '../context/compaction.ts';
import { contextOf } from '../context/context-of.ts';
import { compact } from './compact.ts';
import type { RunContext } from './context.ts';

/** Knows when what is sent has become too long, and makes it shorter. */
export class Compactor {
  readonly #context: RunContext;
  /** After one that failed, so many turns pass before the next. */
  #notBefore = 0;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** It is long, and there is enough that is old: a summary for each turn would cost more than it saves. */
  get isDue(): boolean {
    const { settings, journal } = this.#context;
    const { compaction } = settings;
    const { loop, state } = journal;
    if (compaction === undefined || loop.lastTokens < compaction.whenTokens) return false;
    if ((loop.run?.turns ?? 0) < this.#notBefore) return false;
    const { keepSteps } = compaction;
    const steps = coverable(contextOf(transcript(state), loop.compacted), keepSteps).length;
    const isFirst = loop.compacted.summary === undefined;
    const isTooLong = loop.lastTokens === Number.POSITIVE_INFINITY;
    return steps >= (isFirst || isTooLong ? 1 : keepSteps);
  }

  async compact(turn: number, provider: Provider | undefined): Promise<void> {
    const { settings, journal } = this.#context;
    const { compaction = byCommand } = settings;
    const isDone = await compact(this.#context, turn, compaction, provider).catch(
      (error: unknown) => {
        this.#putOff();
        throw error;
      },
    );
    if (!isDone && journal.failure === undefined) this.#putOff();
  }

  #putOff(): void {
    const { run } = this.#context.journal.loop;
    this.#notBefore = (run?.turns ?? 0) + turnsBetween;
  }
}

const turnsBetween = 3;
/** Where nobody said how, and somebody asks for it. */
const byCommand = { whenTokens: Number.POSITIVE_INFINITY, keepSteps: 2, summarize: summaryPrompt };
