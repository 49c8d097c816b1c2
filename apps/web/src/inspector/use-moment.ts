import type { FactRecord, FoldState } from '@millrace/core';
import { useCallback, useEffect, useRef } from 'react';
import type { Inspected } from './inspected-session.ts';
import { indexOfMoment } from './moment.ts';

/** Called with each move. Undefined: what is now. The facts are those up to the same record. */
export type OnMoment = (
  at: number | undefined,
  state: FoldState,
  facts: readonly FactRecord[],
) => void;

/** Where one is in the session, and how to go elsewhere. */
export function useMoment({ model, count }: Inspected, at: number | undefined, onMoment: OnMoment) {
  const told = useRef<number | undefined>(undefined);
  const tell = useRef(onMoment);
  tell.current = onMoment;
  const goTo = useCallback(
    (offset: number | undefined) => {
      told.current = offset;
      const { checkpoints } = model;
      const state = offset === undefined ? checkpoints.head : checkpoints.stateAt(offset);
      tell.current(offset, state, model.factsUpTo(state.through));
    },
    [model],
  );
  const goToIndex = useCallback(
    (index: number) => goTo(model.records[Math.max(0, index)]?.offset),
    [goTo, model],
  );
  // A link, or a step back in the browser's history: whoever gave `at` has no state for it yet.
  const isReached = at !== undefined && (model.records[count - 1]?.offset ?? 0) >= at;
  useEffect(() => {
    if (isReached && told.current !== at) goTo(at);
    if (at === undefined) told.current = undefined;
  }, [at, isReached, goTo]);
  return { index: indexOfMoment(model.records, at), goTo, goToIndex };
}
