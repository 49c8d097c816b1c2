import type { LogRecord } from '@millrace/core';
import type { ProducerRow, SessionRow } from '../shelf/rows.ts';
import { admitted } from './produce.ts';

/**
 * The requests that a copied log has tried and not finished, as producers: whoever asks again goes on
 * counting, because an attempt and the ids of its parts are never used twice.
 */
export function triedRequests(
  row: SessionRow,
  records: readonly LogRecord[],
): readonly ProducerRow[] {
  const tried = new Map<number, { attempt: number; isSuperseded: boolean }>();
  for (const { turn, attempt, fact } of records) {
    if (fact?.type === 'turn_finished') tried.delete(turn);
    else if (turn > 0 && attempt > 0) {
      const known = tried.get(turn);
      if (known === undefined || known.attempt < attempt)
        tried.set(turn, { attempt, isSuperseded: false });
      const last = tried.get(turn);
      if (last?.attempt === attempt && fact?.type === 'attempt_superseded')
        last.isSuperseded = true;
    }
  }
  return [...tried].map(([turn, { attempt, isSuperseded }]) => ({
    ...admitted({ ...row, epoch: 0 }, { for: 'request', turn }),
    attempt,
    // One that was opened is superseded when it is opened again.
    epoch: isSuperseded ? 0 : 1,
  }));
}
