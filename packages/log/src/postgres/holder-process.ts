import { isAlive, thisProcess } from '../shelf/process-mark.ts';
import type { ProcessMark } from '../shelf/rows.ts';

/** This process, as others on its machine can look for it. */
export const holderProcess: ProcessMark = thisProcess();

/**
 * Does the holder of a lease still run? Undefined where that cannot be seen from here. Machines may share
 * a name, and with it a log in Postgres: only where both were started by the same boot is it the same one.
 */
export function isHolderAlive(mark: ProcessMark): boolean | undefined {
  const { boot } = holderProcess;
  return boot === '' || mark.boot !== boot ? undefined : isAlive(mark);
}
