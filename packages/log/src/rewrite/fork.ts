import type { DraftRecord, LogRecord } from '@millrace/core';

/** Does the offset lie within what a snapshot stands for? Then nobody knows what was there. */
export function isInside(records: readonly LogRecord[], offset: number): boolean {
  return records.some(({ fact }) => {
    if (fact?.type !== 'snapshot') return false;
    const [first, last] = fact.covers;
    return offset >= first && offset < last;
  });
}

/** Is the record there, or was it taken out? */
export function isKept(records: readonly LogRecord[], offset: number): boolean {
  return offset === 0 || records.some((record) => record.offset === offset);
}

/** Commands that waited are the original's: in the copy they count as done. */
export function consumeQueued(records: readonly LogRecord[]): readonly DraftRecord[] {
  const queued = new Set<string>();
  for (const { fact } of records) {
    if (fact?.type === 'command_queued') queued.add(fact.key);
    if (fact?.type === 'command_consumed') queued.delete(fact.key);
  }
  return [...queued].map((key) => ({
    turn: 0,
    attempt: 0,
    fact: { type: 'command_consumed', key },
  }));
}
