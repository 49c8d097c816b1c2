import type { Refusal } from '../protocol/protocol-error.ts';
import type { Batch, LogRecord } from '../protocol/record.ts';
import { applyDelta } from './apply-delta.ts';
import { applyFact } from './apply-fact.ts';
import type { FoldState } from './fold-state.ts';

/** What became of it. After a gap the state is the one before: the caller has to read again from its `through`. */
export type Folded =
  | { readonly outcome: 'applied' | 'seen'; readonly state: FoldState }
  | { readonly outcome: 'gap'; readonly state: FoldState; readonly gap: Gap };

export interface Gap {
  /** What does not follow: a batch's `after`, or the record that does not fit. */
  readonly offset: number;
  readonly code: Refusal;
}

/** Hears of each record that changed or passed through the state, in order, after its whole batch was taken. */
export type OnStep = (before: FoldState, record: LogRecord, after: FoldState) => void;

/** One record as the log has it, not merged: a batch of one. */
export function fold(state: FoldState, record: LogRecord): Folded {
  const { offset } = record;
  return foldBatch(state, { after: offset - 1, through: offset, records: [record] });
}

/**
 * A batch is taken whole or not at all, and only its end moves `through`: a merged append may stand
 * after records that came later than its beginning.
 */
export function foldBatch(state: FoldState, batch: Batch, onStep?: OnStep): Folded {
  const { after, through, records } = batch;
  // Asked this way round, NaN from a careless caller is nothing or a gap, never an advance.
  if (!(through > state.through)) return { outcome: 'seen', state };
  if (!(after <= state.through)) return gapAt(state, after, 'gap');
  const steps: FoldState[] = [state];
  const taken: LogRecord[] = [];
  let last = state.through;
  let current = state;
  for (const record of records) {
    if (record.offset <= state.through) continue;
    if (!(record.offset > last && record.offset <= through)) {
      return gapAt(state, record.offset, 'out_of_order');
    }
    const next = step(current, record);
    if (typeof next === 'string') return gapAt(state, record.offset, next);
    last = record.offset;
    current = next;
    if (onStep !== undefined) {
      taken.push(record);
      steps.push(next);
    }
  }
  if (onStep !== undefined) tell(steps, taken, onStep);
  return { outcome: 'applied', state: { ...current, through } };
}

function step(state: FoldState, record: LogRecord): FoldState | Refusal {
  return record.delta === undefined ? applyFact(state, record) : applyDelta(state, record.delta);
}

function tell(steps: readonly FoldState[], taken: readonly LogRecord[], onStep: OnStep): void {
  taken.forEach((record, index) => {
    const before = steps[index];
    const after = steps[index + 1];
    if (before !== undefined && after !== undefined) onStep(before, record, after);
  });
}

function gapAt(state: FoldState, offset: number, code: Refusal): Folded {
  return { outcome: 'gap', state, gap: { offset, code } };
}
