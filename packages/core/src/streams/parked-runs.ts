import type { RunId } from '../ids.ts';
import type { LogRecord } from '../protocol/record.ts';

/** Where a reader is between runs. */
export interface ParkedState {
  /** The run of the last message. */
  readonly run: RunId | undefined;
  /** The last run is parked. */
  readonly isParked: boolean;
}

/** A record of a message. */
export interface JoinedRecord {
  readonly record: LogRecord;
  /**
   * The record ends a parked run or starts the run that continues it. Both are invisible in the
   * message.
   */
  readonly isParkBoundary: boolean;
}

/**
 * Joins parked runs with the runs that continue them, because they are one message for the AI SDK.
 * Later runs get the id of the first one.
 */
export function joinParkedRuns(
  records: readonly LogRecord[],
  before: ParkedState,
): { readonly joined: readonly JoinedRecord[]; readonly after: ParkedState } {
  let { run, isParked } = before;
  const joined = records.map((record) => {
    const { fact } = record;
    const isParkBoundary = parksRun(record) || (isParked && fact?.type === 'run_started');
    if (fact?.type === 'run_started' && !isParkBoundary) run = fact.runId;
    isParked = isParkedAfter(isParked, record);
    if (fact?.type !== 'run_finished' || run === undefined) return { record, isParkBoundary };
    const { delta: _, ...head } = record;
    return { record: { ...head, fact: { ...fact, runId: run } }, isParkBoundary };
  });
  return { joined, after: { run, isParked } };
}

/** Whether the last run is parked after a record. */
export function isParkedAfter(isParked: boolean, record: LogRecord): boolean {
  const type = record.fact?.type;
  return type === 'run_started' || type === 'run_finished' ? parksRun(record) : isParked;
}

function parksRun({ fact }: LogRecord): boolean {
  return fact?.type === 'run_finished' && fact.stop.reason === 'parked';
}
