import {
  emptyState,
  foldBatch,
  type ItemId,
  type LogRecord,
  type SessionId,
  settleTurn,
} from '@millrace/core';
import { requireSession, type Store } from '../engine/log-context.ts';

/** Replaces the deltas of a finished turn by a snapshot, in one transaction. */
export async function settle(store: Store, session: SessionId, turn: number): Promise<boolean> {
  const told = await store.commits.run(
    (shelf) => {
      const row = requireSession(shelf, session);
      const found = settledRange(session, turn, store.recordsOf(shelf, row));
      if (found === undefined) return undefined;
      const blobs = shelf.blobsOf(session);
      const settledRow = { ...row, rewrites: row.rewrites + 1 };
      shelf.replace(session, found.first, found.last, found.records);
      shelf.putSession(settledRow);
      shelf.deleteUnusedBlobs(blobs);
      return settledRow;
    },
    { tell: (changed) => changed && store.feeds.rewritten(changed) },
  );
  return told !== undefined;
}

interface Rewritten {
  readonly first: number;
  readonly last: number;
  readonly records: readonly LogRecord[];
}

/** The stretch of a log in which a turn's deltas become a snapshot; undefined where they cannot. */
function settledRange(
  session: SessionId,
  turn: number,
  records: readonly LogRecord[],
): Rewritten | undefined {
  const own = records.filter((record) => record.turn === turn);
  const [start] = own;
  const end = own.at(-1);
  if (start === undefined || end === undefined) return undefined;
  const batch = {
    after: 0,
    through: records.at(-1)?.offset ?? 0,
    records: concerning(turn, own, records),
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

/** The turn's own, and what is said of its items elsewhere: that need not be said in the turn. */
function concerning(
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
