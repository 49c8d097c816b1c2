import type { LogRecord } from '@millrace/core';
import { duration } from '../design/time.ts';
import { countUpTo } from './checkpoints.ts';
import type { SessionModel } from './session-model.ts';

/** The record that is looked at, by its place: the last one where one looks at what is now. */
export function indexOfMoment(records: readonly LogRecord[], at: number | undefined): number {
  return (at === undefined ? records.length : countUpTo(records, at)) - 1;
}

export type Step = 'record' | 'fact' | 'turn';

/** The next place in a direction: the next record, or the next that says more. */
export function stepFrom(
  records: readonly LogRecord[],
  index: number,
  by: 1 | -1,
  step: Step,
): number {
  const last = records.length - 1;
  for (let next = index + by; next >= 0 && next <= last; next += by) {
    if (step === 'record' || isStop(records[next], step)) return next;
  }
  return by > 0 ? last : 0;
}

function isStop(record: LogRecord | undefined, step: 'fact' | 'turn'): boolean {
  if (step === 'fact') return record?.fact !== undefined;
  return record?.fact?.type === 'turn_started' || record?.fact?.type === 'turn_finished';
}

/** For people: "record 120 of 480, 12.4 s". */
export function momentText({ records, axis }: SessionModel, index: number): string {
  if (records.length === 0) return 'no records';
  const time = axis.times[index] ?? axis.start;
  return `record ${index + 1} of ${records.length}, ${duration(time - axis.start)}`;
}
