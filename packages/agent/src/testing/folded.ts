import { emptyState, type FoldState, fold, type LogRecord, type SessionId } from '@millrace/core';

/** What the first records of a session come to. They must fold. */
export function folded(session: SessionId, records: readonly LogRecord[]): FoldState {
  let state = emptyState(session);
  for (const record of records) {
    const next = fold(state, record);
    if (next.outcome !== 'applied') throw new Error(`Record ${record.offset} does not fold`);
    state = next.state;
  }
  return state;
}
