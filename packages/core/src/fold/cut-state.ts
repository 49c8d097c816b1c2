import { type SessionId, sessionId } from '../ids.ts';
import { emptyState, type FoldState } from './fold-state.ts';
import { cutSequence, push, type Sequence, toArray } from './sequence.ts';

/**
 * Returns the state after a run that left nothing open, without the items of this run and earlier runs (see
 * `isCut`). `through` is the offset of the record that finished the run.
 *
 * @example const state = stateAfterRun(session, offset);
 */
export function stateAfterRun(session: string, through: number): FoldState {
  const id: SessionId = sessionId(session);
  return { ...emptyState(id), items: cutSequence(), usage: cutSequence(), through };
}

/**
 * Adds the earlier items to a state that was folded from `stateAfterRun`. `earlier` is the state at the
 * offset at which that fold started. The result is the state that a fold of all records has. It shares all
 * items with the two states.
 *
 * @example const whole = joinStates(earlier, recent);
 */
export function joinStates(earlier: FoldState, recent: FoldState): FoldState {
  const known = recent.notUnderstood.filter((type) => !earlier.notUnderstood.includes(type));
  return {
    ...recent,
    items: joined(earlier.items, recent.items),
    usage: joined(earlier.usage, recent.usage),
    notUnderstood: [...earlier.notUnderstood, ...known],
  };
}

function joined<T>(earlier: Sequence<T>, recent: Sequence<T>): Sequence<T> {
  return toArray(recent).reduce(push, earlier);
}
