import type { DraftRecord } from '@millrace/core';

/** Drafts as a driver would say them: with the beginning of each turn that something is said in. */
export function scriptOf(drafts: readonly DraftRecord[]): readonly DraftRecord[] {
  const begun = new Set([0]);
  return drafts.flatMap((given): readonly DraftRecord[] => {
    const { turn, attempt, delta, fact } = given;
    const draft: DraftRecord =
      delta === undefined ? { turn, attempt, fact } : { turn, attempt, delta };
    if (begun.has(turn)) return [draft];
    begun.add(turn);
    return [{ turn, attempt: 0, fact: { type: 'turn_started' } }, draft];
  });
}
