import {
  type Batch,
  type DraftRecord,
  encodeBatch,
  encodeDraft,
  isMillraceError,
} from '@millrace/core';
import { tell } from '../../packages/log/src/testing/start-process.ts';
import type { Listened } from './history.ts';
import type { Said } from './orders.ts';

/** Says it at once: what a process was told counts as soon as it has passed it on. */
export const say: (said: Said) => void = tell;

export function sayHeard(where: Listened, batch: Batch): void {
  say({ type: 'heard', ...where, batch: encodeBatch(batch) });
}

export function sayTried(
  append: string,
  session: string,
  drafts: readonly DraftRecord[],
  isDrivers = false,
): void {
  say({ type: 'tried', append, session, drafts: drafts.map(encodeDraft), isDrivers });
}

/** Whoever is fenced was told so, and that nothing was stored; anything else is not meant to happen. */
export function isFenced(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'fenced';
}
