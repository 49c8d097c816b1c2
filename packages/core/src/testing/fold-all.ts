import { expect } from 'vitest';
import { foldBatch } from '../fold/fold.ts';
import { emptyState, type FoldState } from '../fold/fold-state.ts';
import type { LogRecord } from '../protocol/record.ts';
import { testSession } from './random-log.ts';

/** Folds a whole log from the start in one batch. Fails the test if the batch does not fit. */
export function foldAll(
  records: readonly LogRecord[],
  through: number = records.at(-1)?.offset ?? 0,
): FoldState {
  const folded = foldBatch(emptyState(testSession), { after: 0, through, records });
  expect(folded.outcome).toBe(through === 0 ? 'seen' : 'applied');
  return folded.state;
}
