import { encodeRecord, type LogRecord } from '@millrace/core';

/** What an append takes besides its chunk. */
const bytesAround = 150;

/** About what a record takes as a line. Most are appends, which need not be written out to tell. */
export function weightOf(record: LogRecord): number {
  const { delta } = record;
  const isAppend = delta?.type === 'append_text' || delta?.type === 'append_bytes';
  return isAppend ? bytesAround + delta.chunk.length : encodeRecord(record).length;
}
