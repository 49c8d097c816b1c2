import type { FactRecord, FoldState, LogRecord } from '@millrace/core';
import { useCallback, useEffect, useRef } from 'react';
import { duration } from '../../design/time.tsx';
import type { Labels } from '../../labels/labels.ts';
import type { InspectedState } from '../model/inspected-session.ts';
import { countUpTo, type SessionModel } from '../model/session-model.ts';

/**
 * Returns the index of the selected record. If `at` is undefined, it returns the index of the last
 * record.
 */
export function indexOfMoment(records: readonly LogRecord[], at: number | undefined): number {
  return (at === undefined ? records.length : countUpTo(records, at)) - 1;
}

type Step = 'record' | 'fact' | 'turn';

/**
 * Returns the index after one step forward or back. A step goes to the next record, fact or turn
 * boundary.
 */
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

/** Returns the moment as text, for example "record 120 of 480, 12.4 s". */
export function momentText(
  { records, axis, after }: SessionModel,
  index: number,
  t: Labels,
): string {
  if (records.length === 0) return t.noRecords;
  const time = axis.times[index] ?? axis.start;
  if (after > 0) return t.recordNumber(`${records[index]?.offset ?? after}`);
  return `${t.recordOf(`${index + 1}`, `${records.length}`)}, ${duration(time - axis.start)}`;
}

/** The state of a session at a moment, and the facts up to the same record. */
export interface Moment {
  readonly state: FoldState;
  readonly facts: readonly FactRecord[];
}

/**
 * Called each time the user selects a moment. An undefined `at` means the current state. `moment`
 * is undefined while the records are loading, or if the state cannot be computed.
 */
export type OnMoment = (at: number | undefined, moment: Moment | undefined) => void;

/** Returns the index of the selected record, and functions that select a record. */
export function useMoment(
  { model, count, isPart }: InspectedState,
  at: number | undefined,
  onMoment: OnMoment,
) {
  const reported = useRef<{ readonly model: SessionModel; readonly at: number } | undefined>(
    undefined,
  );
  const callback = useRef(onMoment);
  callback.current = onMoment;
  /** The number of selections. An effect that finds another number than its rendering is out of date. */
  const selections = useRef(0);
  const last = model.records[count - 1]?.offset ?? 0;
  const goTo = useCallback(
    (offset: number | undefined) => {
      const end = model.records.at(-1)?.offset ?? 0;
      const isRead = offset === undefined ? !isPart : offset > model.after && offset <= end;
      const isKnown = model.hasStates && isRead;
      selections.current++;
      reported.current = offset === undefined || !isRead ? undefined : { model, at: offset };
      callback.current(offset, isKnown ? momentAt(model, offset) : undefined);
    },
    [model, isPart],
  );
  const goToIndex = useCallback(
    (index: number) => goTo(model.records[Math.max(0, index)]?.offset),
    [goTo, model],
  );
  // If a link or the browser history has changed `at`, the caller has no state for the new moment
  // yet.
  const isReached = at !== undefined && at > model.after && last >= at;
  const isNew = reported.current?.at !== at || reported.current?.model !== model;
  const seen = selections.current;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a later selection starts no effect
  useEffect(() => {
    // The user can select another moment before this effect runs. To go back to `at` would undo that
    // selection, and two such effects would select two moments in turn without an end.
    if (selections.current !== seen) return;
    if (isReached && isNew) goTo(at);
    if (at === undefined) reported.current = undefined;
  }, [at, isReached, isNew, goTo]);
  return { index: indexOfMoment(model.records, at), goTo, goToIndex };
}

/** Returns the state and the facts at an offset. Undefined means the state after all records. */
function momentAt(model: SessionModel, at: number | undefined): Moment {
  const { checkpoints } = model;
  const state = at === undefined ? checkpoints.head : checkpoints.stateAt(at);
  return { state, facts: model.factsUpTo(state.through) };
}
