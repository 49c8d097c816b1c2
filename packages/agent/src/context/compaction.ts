import type { Item, ItemId } from '@millrace/core';
import { summaryId } from './context-of.ts';

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

/** The steps that a summary would stand for, as their items. A call and its result are never parted. */
export function coverable(
  context: readonly Item[],
  keepSteps: number,
): readonly (readonly ItemId[])[] {
  const steps: Item[][] = [];
  for (const item of context) {
    const last = steps.at(-1);
    if (item.kind === 'tool' && last !== undefined) last.push(item);
    else steps.push([item]);
  }
  const old = steps.slice(0, Math.max(0, steps.length - keepSteps));
  return old
    .map((step) => step.map(({ id }) => id).filter((id) => id !== summaryId))
    .filter((step) => step.length > 0);
}
