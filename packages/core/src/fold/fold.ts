import { sessionId } from '../ids.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import type { Batch, LogRecord } from '../protocol/record.ts';
import { applyDelta } from './apply-delta.ts';
import { applyFact } from './apply-fact.ts';
import { emptyState, type FoldState } from './fold-state.ts';

/**
 * The outcome of folding a batch. After a gap the state is unchanged, and the caller must read
 * again from its `through`.
 */
export type Folded =
  | { readonly outcome: 'applied' | 'seen'; readonly state: FoldState }
  | { readonly outcome: 'gap'; readonly state: FoldState; readonly gap: Gap };

/** Describes why a batch does not fit the state. The caller must read again from the state's `through`. */
export interface Gap {
  /** The `after` of the batch, or the offset of the record that does not fit. */
  readonly offset: number;
  readonly code: Refusal;
}

/** Called for each applied record, in order, after its whole batch was applied. */
export type OnStep = (before: FoldState, record: LogRecord, after: FoldState) => void;

/** Folds one unmerged record as a batch of its own. */
export function fold(state: FoldState, record: LogRecord): Folded {
  return foldBatch(state, batchOf(record));
}

function batchOf(record: LogRecord): Batch {
  const { offset } = record;
  return { after: offset - 1, through: offset, records: [record] };
}

/**
 * Folds a batch completely or not at all. Only the end of the batch moves `through`. A merged append has the
 * offset of its last piece, so offsets inside a batch do not show which pieces were read.
 */
export function foldBatch(state: FoldState, batch: Batch, onStep?: OnStep): Folded {
  const steps: Step[] = [];
  const folded = foldSteps(state, batch, onStep && steps);
  notify(folded, steps, onStep);
  return folded;
}

/**
 * Folds a batch and, if `steps` is given, adds each new record to `steps`, with the states before and after
 * the record.
 */
function foldSteps(
  state: FoldState,
  { after, through, records }: Batch,
  steps: Step[] | undefined,
): Folded {
  // `!(a > b)` is also true if a caller passes NaN. With NaN, the outcome is therefore `seen` or a gap, and
  // the state does not change.
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

interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

/** Calls the listener for the steps of a batch that was applied. */
function notify(folded: Folded, steps: readonly Step[], onStep: OnStep | undefined): void {
  if (folded.outcome !== 'applied' || onStep === undefined) return;
  for (const { before, record, after } of steps) onStep(before, record, after);
}

function apply(state: FoldState, record: LogRecord): FoldState | Refusal {
  return record.delta === undefined ? applyFact(state, record) : applyDelta(state, record.delta);
}

function gapAt(state: FoldState, offset: number, code: Refusal): Folded {
  return { outcome: 'gap', state, gap: { offset, code } };
}

/** Folds a log record by record and holds the current state. */
export class Folder {
  #state: FoldState;

  /** Starts with an earlier state, or with the empty state of the session with this id. */
  constructor(from: string | FoldState) {
    this.#state = typeof from === 'string' ? emptyState(sessionId(from)) : from;
  }

  /** The current state. It is immutable, and later states share all unchanged objects with it. */
  get state(): FoldState {
    return this.#state;
  }

  /**
   * Folds one record. A duplicate has no effect. If records before this record are missing, the outcome is a
   * gap.
   */
  add(record: LogRecord): Folded {
    return this.addBatch(batchOf(record));
  }

  /**
   * Folds a batch. The state is updated before the listener runs, so an error in the listener loses
   * no record.
   */
  addBatch(batch: Batch, onStep?: OnStep): Folded {
    const steps: Step[] = [];
    const folded = foldSteps(this.#state, batch, onStep && steps);
    this.#state = folded.state;
    notify(folded, steps, onStep);
    return folded;
  }
}
