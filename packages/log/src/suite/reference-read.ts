import { type Batch, encodeRecord } from '@millrace/core';
import { isInside } from './reference-rewrite.ts';
import { refusal, type Session } from './reference-store.ts';

/** What follows, as far as a page goes, which does not end inside of what was settled. */
export function after(found: Session, from: number, maxBytes: number = Infinity): Batch {
  assertOffset(found, from);
  const records = found.records.filter(({ offset }) => offset > from);
  let bytes = 0;
  const end = records.find((record) => {
    bytes += encodeRecord(record).length;
    return bytes >= maxBytes && !isInside(found.records, record.offset);
  });
  const through = end?.offset ?? found.through;
  return { after: from, through, records: records.filter(({ offset }) => offset <= through) };
}

type Extent = Pick<Session, 'session' | 'through'>;

export function assertOffset({ session, through }: Extent, offset: number): void {
  const isThere = Number.isInteger(offset) && offset >= 0 && offset <= through;
  if (!isThere) throw refusal('bad_offset', { session, offset, through });
}
