import type { FactRecord, FoldState, LogRecord } from '@millrace/core';
import { useCallback, useEffect, useRef } from 'react';
import { duration } from '../../design/time.tsx';
import type { InspectedState } from '../model/inspected-session.ts';
import { countUpTo, type SessionModel } from '../model/session-model.ts';

/** The record that is looked at, by its place: the last one where one looks at what is now. */
export function indexOfMoment(records: readonly LogRecord[], at: number | undefined): number {
  return (at === undefined ? records.length : countUpTo(records, at)) - 1;
}

type Step = 'record' | 'fact' | 'turn';

/** The next place in a direction: the next record, or the next that says more. */
export function stepFrom(
  records: readonly LogRecord[],
  index: number,
  by: 1 | -1,
  step: Step,
): number {
  const last = records.length - 1;
  for (let next = index + by; next >= 0 && next <= last; next += by) {
    if (step === 'record' || isTarget(records[next], step)) return next;
  }
  return by > 0 ? last : 0;
}

function isTarget(record: LogRecord | undefined, step: 'fact' | 'turn'): boolean {
  if (step === 'fact') return record?.fact !== undefined;
  return record?.fact?.type === 'turn_started' || record?.fact?.type === 'turn_finished';
}

/** For people: "record 120 of 480, 12.4 s". */
export function momentText({ records, axis }: SessionModel, index: number): string {
  if (records.length === 0) return 'no records';
  const time = axis.times[index] ?? axis.start;
  return `record ${index + 1} of ${records.length}, ${duration(time - axis.start)}`;
}

/** Called with each move. Undefined: what is now. The facts are those up to the same record. */
export type OnMoment = (
  at: number | undefined,
  state: FoldState,
  facts: readonly FactRecord[],
) => void;

/** Where one is in the session, and how to go elsewhere. */
export function useMoment(
  { model, count }: InspectedState,
  at: number | undefined,
  onMoment: OnMoment,
) {
  const reported = useRef<number | undefined>(undefined);
  const callback = useRef(onMoment);
  callback.current = onMoment;
  const goTo = useCallback(
    (offset: number | undefined) => {
      reported.current = offset;
      const { checkpoints } = model;
      const state = offset === undefined ? checkpoints.head : checkpoints.stateAt(offset);
      callback.current(offset, state, model.factsUpTo(state.through));
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
    if (isReached && reported.current !== at) goTo(at);
    if (at === undefined) reported.current = undefined;
  }, [at, isReached, goTo]);
  return { index: indexOfMoment(model.records, at), goTo, goToIndex };
}
