import type { LogRecord } from '@millrace/core';
import { bodyOf } from './essence.ts';
import type { Verdict } from './verdict.ts';

/** A log that was read in the end: numbered without holes, nothing twice, and where each thing is. */
export function checkFinal(
  session: string,
  records: readonly LogRecord[],
  verdict: Verdict,
): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const seen = new Set<number>();
  let last = 0;
  for (const record of records) {
    const { offset } = record;
    const where = `${session}, offset ${offset}`;
    if (seen.has(offset)) verdict.add('doubled', `${where} is there twice`);
    else if (offset < last) verdict.add('reordered', `${where} follows ${last}`);
    else if (offset > last + 1) verdict.add('gaps', `${where} follows ${last}`);
    seen.add(offset);
    last = Math.max(last, offset);
    const body = bodyOf(record);
    const first = places.get(body);
    if (first === undefined) places.set(body, offset);
    else verdict.add('doubled', `${where} is what ${first} is: ${body.slice(0, 120)}`);
  }
  return places;
}
