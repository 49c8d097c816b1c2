import type { SessionId } from '../ids.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import type { Batch, LogRecord } from '../protocol/record.ts';
import { applyDelta } from './apply-delta.ts';
import { applyFact } from './apply-fact.ts';
import { emptyState, type FoldState } from './fold-state.ts';

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
  return foldBatch(state, batchOf(record));
}

export function batchOf(record: LogRecord): Batch {
  const { offset } = record;
  return { after: offset - 1, through: offset, records: [record] };
}

/**
 * A batch is taken whole or not at all, and only its end moves `through`: a merged append may stand
 * after records that came later than its beginning.
 */
export function foldBatch(state: FoldState, batch: Batch, onStep?: OnStep): Folded {
  const steps: Step[] = [];
  const folded = foldSteps(state, batch, onStep && steps);
  tell(folded, steps, onStep);
  return folded;
}

/** Adds the records that were new to `steps`, where somebody wants them, each with the states around it. */
export function foldSteps(
  state: FoldState,
  { after, through, records }: Batch,
  steps: Step[] | undefined,
): Folded {
  // Asked this way round, NaN from a careless caller is nothing or a gap, never an advance.
  if (!(through > state.through)) return { outcome: 'seen', state };
  if (!(after <= state.through)) return gapAt(state, after, 'gap');
  if (!Number.isSafeInteger(through)) return gapAt(state, through, 'out_of_order');
  let last = state.through;
  let before = state;
  for (const record of records) {
    if (record.offset <= state.through) continue;
    if (!(record.offset > last && record.offset <= through)) {
      return gapAt(state, record.offset, 'out_of_order');
    }
    const next = apply(before, record);
    if (typeof next === 'string') return gapAt(state, record.offset, next);
    steps?.push({ before, record, after: next });
    last = record.offset;
    before = next;
  }
  return { outcome: 'applied', state: { ...before, through } };
}

export interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

/** Nobody hears of a batch that was not taken. */
export function tell(folded: Folded, steps: readonly Step[], onStep: OnStep | undefined): void {
  if (folded.outcome !== 'applied' || onStep === undefined) return;
  for (const { before, record, after } of steps) onStep(before, record, after);
}

function apply(state: FoldState, record: LogRecord): FoldState | Refusal {
  return record.delta === undefined ? applyFact(state, record) : applyDelta(state, record.delta);
}

function gapAt(state: FoldState, offset: number, code: Refusal): Folded {
  return { outcome: 'gap', state, gap: { offset, code } };
}

/** Folds a log as it comes and holds the state: what `fold` gives, without passing states around. */
export class Folder {
  #state: FoldState;

  /** From the start of a session's log, or from a state that was reached before. */
  constructor(from: SessionId | FoldState) {
    this.#state = typeof from === 'string' ? emptyState(from) : from;
  }

  /** Free to take at any time: it is immutable, and later ones share with it what did not change. */
  get state(): FoldState {
    return this.#state;
  }

  add(record: LogRecord): Folded {
    return this.addBatch(batchOf(record));
  }

  /** Listeners hear of a batch when the state has it, so that one that throws loses nothing. */
  addBatch(batch: Batch, onStep?: OnStep): Folded {
    const steps: Step[] = [];
    const folded = foldSteps(this.#state, batch, onStep && steps);
    this.#state = folded.state;
    tell(folded, steps, onStep);
    return folded;
  }
}
