import { sessionId } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import type { StoredFold } from './snapshot-cuts.ts';

/** A value that a program computed from the records of a session. */
export interface ComputedValue<T> {
  /** The offset of the last record that the value includes. */
  readonly through: number;
  /** The incarnation of the session that the offset belongs to, from `SessionInfo`. */
  readonly incarnation: string;
  /** Plain data. It can have maps and sets. */
  readonly value: T;
}

/** The name of a value, and the version of the program that computes it. */
export type ValueName = Pick<StoredFold<unknown>, 'name' | 'version'>;

/**
 * Stores a value beside the snapshot of a session, for the next process. It is for programs that fold the records
 * themselves. No fold of `sessionStates` uses the value. Returns false if the value was not stored, for example
 * because the session has no snapshot yet, or because content was redacted after `through`.
 *
 * @example await storeValue(log, session, { name: 'totals', version: 1 }, { through, incarnation, value });
 */
export async function storeValue<T>(
  log: Log,
  session: string,
  { name, version }: ValueName,
  { through, incarnation, value }: ComputedValue<T>,
): Promise<boolean> {
  if (log.snapshots === undefined) return false;
  const { addValue } = await import('./session-snapshots.ts');
  const own = { name, version, through, incarnation, value };
  return addValue(log.snapshots, sessionId(session), own);
}

/**
 * Returns the value that `storeValue` stored with this name and version. Returns undefined if there is none, if the
 * log was rewound, or if content was redacted since.
 *
 * @example const totals = await storedValue<Totals>(log, session, { name: 'totals', version: 1 });
 */
export async function storedValue<T>(
  log: Log,
  session: string,
  name: ValueName,
): Promise<ComputedValue<T> | undefined> {
  const info = await log.info(session);
  if (log.snapshots === undefined || info === undefined) return undefined;
  const { loadValue } = await import('./session-snapshots.ts');
  const found = await loadValue(log.snapshots, info, name);
  const isUsable = found?.cut === undefined && found !== undefined && found.through <= info.through;
  if (!isUsable) return undefined;
  const { incarnation } = info;
  return { through: found.through, incarnation, value: found.value as T };
}
