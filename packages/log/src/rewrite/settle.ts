import {
  emptyState,
  foldBatch,
  type ItemId,
  type LogRecord,
  type SessionId,
  settleTurn,
} from '@millrace/core';

export interface Rewritten {
  readonly first: number;
  readonly last: number;
  readonly records: readonly LogRecord[];
}

/** The stretch of a log in which a turn's deltas become a snapshot; undefined where they cannot. */
export function settled(
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
