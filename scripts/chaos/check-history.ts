import { checkAppends } from './check-appends.ts';
import { checkFinal } from './check-final.ts';
import { checkReaders } from './check-readers.ts';
import type { History } from './history.ts';
import { Verdict } from './verdict.ts';

/**
 * Was anything lost, doubled or put out of order? Judged by what processes were told and what is read
 * in the end, and by nothing else: how a log does its work is not known here.
 */
export function checkHistory({ events, finals }: History): Verdict {
  const verdict = new Verdict();
  const places = new Map(
    [...finals].map(([session, records]) => [session, checkFinal(session, records, verdict)]),
  );
  checkAppends(events, finals, places, verdict);
  checkReaders(events, finals, verdict);
  return verdict;
}
