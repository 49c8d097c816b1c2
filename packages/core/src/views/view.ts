import type { FoldState } from '../fold/fold-state.ts';
import type { LogRecord } from '../protocol/record.ts';

/**
 * The log in another vocabulary: what a record means to those who never heard of deltas. A pure
 * function of the state before and the record; the state after is what folding that record gives,
 * handed over so that nobody folds twice. It also says what a `snapshot` becomes.
 */
export type View<Event> = (
  before: FoldState,
  record: LogRecord,
  after: FoldState,
) => readonly Event[];
