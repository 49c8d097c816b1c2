import type { SessionId } from '../ids.ts';
import type { Batch, LogRecord } from '../protocol/record.ts';
import { batchOf, type Folded, foldSteps, type OnStep, type Step, tell } from './fold.ts';
import { emptyState, type FoldState } from './fold-state.ts';

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
