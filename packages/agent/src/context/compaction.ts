import type { Item, ItemId } from '@millrace/core';

/** When and how what a model is sent is made shorter. The transcript stays as it is. */
export interface Compaction {
  /** Of the last request and its answer, after which it is done. */
  readonly whenTokens: number;
  /** How many of the last steps stay: a question, or an answer with the results of its calls. */
  readonly keepSteps: number;
  /** What the model is asked for; false drops what is old without a word. */
  readonly summarize: string | false;
}

export const summaryPrompt: string =
  'Summarise the conversation so far for yourself: what was asked, what was decided and why, what was ' +
  'done and found (names, paths, figures), and what is still to do. Leave nothing out that you will need.';

/** The items that a summary would stand for. A call and its result are never parted. */
export function coverable(context: readonly Item[], keepSteps: number): readonly ItemId[] {
  const steps: Item[][] = [];
  for (const item of context) {
    const last = steps.at(-1);
    if (item.kind === 'tool' && last !== undefined) last.push(item);
    else steps.push([item]);
  }
  const old = steps.slice(0, Math.max(0, steps.length - keepSteps)).flat();
  return old.filter(({ kind }) => kind !== 'context').map(({ id }) => id);
}
