import type { RunId } from '../ids.ts';
import type { LogRecord } from '../protocol/record.ts';

/** The state of `joinParkedRuns` between two batches of records. */
export interface ParkedState {
  /** The run whose id is the id of the current message. */
  readonly run: RunId | undefined;
  /** True if the last run is parked. */
  readonly isParked: boolean;
}

/** A record with the information whether the message shows it. */
export interface JoinedRecord {
  readonly record: LogRecord;
  /**
   * True if the record ends a parked run or starts the run that continues it. The message shows
   * neither.
   */
  readonly isParkBoundary: boolean;
}

/**
 * Joins a parked run and the runs that continue it, because together they are one message of the AI SDK. If a
 * later run finishes, its record gets the id of the first run.
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

/** Returns whether the last run is parked after the record. */
export function isParkedAfter(isParked: boolean, record: LogRecord): boolean {
  const type = record.fact?.type;
  return type === 'run_started' || type === 'run_finished' ? parksRun(record) : isParked;
}

function parksRun({ fact }: LogRecord): boolean {
  return fact?.type === 'run_finished' && fact.stop.reason === 'parked';
}
