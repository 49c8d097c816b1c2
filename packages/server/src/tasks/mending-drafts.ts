import type { DraftRecord, FoldState, Stop } from '@millrace/core';
import { closingDrafts } from './closing-drafts.ts';
import type { JournalFold } from './journal-fold.ts';

/** How everything ends whose process died. */
export const interrupted: Stop = { reason: 'aborted', cause: 'interrupted' };

/**
 * What a driver writes that finds a session as a dead one left it: what was said stays as partial, and
 * nothing goes on that nobody works on. Commands that wait, wait on, and so do messages outside of any
 * turn, which whoever opened them closes.
 */
export function mendingDrafts(
  state: FoldState,
  { turn }: Pick<JournalFold, 'turn'>,
): readonly DraftRecord[] {
  const ofTurn = turn === undefined ? [] : closedTurn(state, turn);
  const { run: runId } = state;
  const ofRun: readonly DraftRecord[] =
    runId === undefined
      ? []
      : [{ turn: 0, attempt: 0, fact: { type: 'run_finished', runId, stop: interrupted } }];
  return [...ofTurn, ...ofRun];
}

function closedTurn(state: FoldState, turn: number): readonly DraftRecord[] {
  return [
    ...closingDrafts(state, turn, { stop: interrupted, isCut: true }),
    { turn, attempt: 0, fact: { type: 'turn_finished', stop: interrupted } },
  ];
}
