import { isDeepStrictEqual } from 'node:util';
import { type DraftRecord, encodeDraft, type LogRecord } from '@millrace/core';

/** Would the log have this record of this draft? */
export function isSameDraft(draft: DraftRecord, record: LogRecord): boolean {
  if (draft.turn !== record.turn || draft.attempt !== record.attempt) return false;
  const [given, known] = [draft.delta ?? draft.fact, record.delta ?? record.fact];
  if (given === known) return true;
  if (given.type !== known.type) return false;
  return isDeepStrictEqual(asStored(draft), asStored(record));
}

/** As it is on the wire: without what is derived, and whatever the order of its keys. */
function asStored({ turn, attempt, delta, fact }: DraftRecord | LogRecord): unknown {
  const at = { turn, attempt };
  const draft: DraftRecord = fact === undefined ? { ...at, delta } : { ...at, fact };
  return JSON.parse(encodeDraft(draft));
}
