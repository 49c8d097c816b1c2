import {
  emptyState,
  foldBatch,
  type ItemId,
  type LogRecord,
  type SessionId,
  settleTurn,
} from '@millrace/core';
import { type LogContext, requireSession } from '../engine/log-context.ts';

/** Replaces the deltas of a finished turn with a snapshot, in one transaction. */
export async function settle(
  context: LogContext,
  session: SessionId,
  turn: number,
): Promise<boolean> {
  const settledRow = await context.commits.run(
    (tx) => {
      const row = requireSession(tx, session);
      const found = settledRange(session, turn, context.recordsOf(tx, row));
      if (found === undefined) return undefined;
      const blobs = tx.blobsOf(session);
      const changedRow = { ...row, rewrites: row.rewrites + 1 };
      tx.replace(session, found.first, found.last, found.records);
      tx.putSession(changedRow);
      tx.deleteUnusedBlobs(blobs);
      return changedRow;
    },
    { onCommitted: (changed) => changed && context.feeds.rewritten(changed) },
  );
  return settledRow !== undefined;
}

interface RewrittenRange {
  readonly first: number;
  readonly last: number;
  readonly records: readonly LogRecord[];
}

/**
 * Returns the range of records to replace, with its new records. Returns `undefined` if the turn
 * cannot be settled.
 */
function settledRange(
  session: SessionId,
  turn: number,
  records: readonly LogRecord[],
): RewrittenRange | undefined {
  const own = records.filter((record) => record.turn === turn);
  const [start] = own;
  const end = own.at(-1);
  if (start === undefined || end === undefined) return undefined;
  const batch = {
    after: 0,
    through: records.at(-1)?.offset ?? 0,
    records: recordsAbout(turn, own, records),
  };
  const { state } = foldBatch(emptyState(session), batch);
  const kept = settleTurn(own, turn, state);
  if (kept === own) return undefined;
  const others = records.filter(
    (record) => record.turn !== turn && record.offset > start.offset && record.offset < end.offset,
  );
  const all = [...kept, ...others].sort((a, b) => a.offset - b.offset);
  return { first: start.offset, last: end.offset, records: all };
}

/** The records of the turn, and facts about its items that belong to other turns. */
function recordsAbout(
  turn: number,
  own: readonly LogRecord[],
  records: readonly LogRecord[],
): readonly LogRecord[] {
  const items = new Set(
    own.flatMap(({ fact }) => (fact?.type === 'item_started' ? fact.itemId : [])),
  );
  return records.filter(
    ({ turn: its, fact }) =>
      its === turn || (fact !== undefined && 'itemId' in fact && items.has(fact.itemId as ItemId)),
  );
}
