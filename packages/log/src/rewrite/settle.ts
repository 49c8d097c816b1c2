import {
  emptyState,
  foldBatch,
  type ItemId,
  type LogRecord,
  type SessionId,
  settleTurn,
} from '@millrace/core';
import { decodeLink } from '../chain/link.ts';
import { rewriteChain } from '../chain/rewrite-chain.ts';
import { nextTask } from '../contract/clock.ts';
import type { SettleOptions } from '../contract/log.ts';
import { unknownSession } from '../contract/log-error.ts';
import { assertSettleOptions } from '../engine/check-rare-options.ts';
import { type LogContext, requireSession } from '../engine/log-context.ts';
import { batchBytes } from '../follow/feed.ts';
import { referencedBlobs } from '../storage/blob-references.ts';
import type { StoreTransaction } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';

/** The offsets of the first and the last record of a range. */
type OffsetRange = readonly [first: number, last: number];

/**
 * Replaces the deltas of a finished turn with a snapshot. The transaction reads and writes only the records
 * of the turn. The time for which other writers wait therefore does not depend on the length of the session.
 */
export async function settle(
  context: LogContext,
  session: SessionId,
  turn: number,
  options: SettleOptions = {},
): Promise<boolean> {
  assertSettleOptions(options, session);
  const { within } = options;
  const row = await context.reader.session(session);
  if (row === undefined) throw unknownSession(session);
  const range = within ?? (await findTurn(context, row, turn));
  if (range === undefined) return false;
  const [first, last] = range;
  const settled = await context.commits.run(
    (tx) => {
      const now = requireSession(tx, session);
      // The session was deleted, and a new session now has the same id.
      if (now.made !== row.made) throw unknownSession(session);
      const old = context.recordsBetween(tx, session, first - 1, last);
      if (within !== undefined && !isWholeTurn(old, turn)) return 'search';
      const found = settledRange(session, turn, old);
      if (found === undefined) return undefined;
      const { row: changedRow, ...range } = chainedRewrite(context, tx, now, found, turn);
      tx.replace(session, range.first, range.last, range.records);
      tx.putSession(changedRow);
      tx.deleteUnusedBlobs([...new Set(referencedBlobs(old))]);
      return changedRow;
    },
    {
      onCommitted: (changed) => {
        if (typeof changed === 'object') context.feeds.rewritten(changed);
      },
    },
  );
  return settled === 'search' ? settle(context, session, turn) : settled !== undefined;
}

/**
 * Adds a link for the rewrite to the hash chain. Returns the range with this link, and the new session row.
 * If a link of the old records is on a record outside of the range, the range becomes longer.
 */
function chainedRewrite(
  context: LogContext,
  tx: StoreTransaction,
  now: SessionRow,
  range: RewrittenRange,
  turn: number,
): RewrittenRange & { readonly row: SessionRow } {
  const { chain } = now;
  const row = { ...now, rewrites: now.rewrites + 1 };
  if (chain === undefined) return { ...range, row };
  // The links of a redaction can be far after the records that they cover.
  const old = chain.isWide
    ? context.recordsOf(tx, now)
    : linkedRecords(context, tx, now, range.first, range.last);
  const isOther = ({ offset }: LogRecord) => offset < range.first || offset > range.last;
  const others = old.filter(isOther);
  const next = [...range.records, ...others].sort((a, b) => a.offset - b.offset);
  const { records, chain: head } = rewriteChain(chain, old, next, `settle ${turn}`);
  const first = Math.min(range.first, old[0]?.offset ?? range.first);
  const last = Math.max(range.last, old.at(-1)?.offset ?? range.last);
  return { first, last, records, row: { ...row, chain: head } };
}

/** Returns the records from `first` to `last`, and the later records up to the links of these records. */
function linkedRecords(
  context: LogContext,
  tx: StoreTransaction,
  { session, through }: SessionRow,
  first: number,
  last: number,
): readonly LogRecord[] {
  const records = [...context.recordsBetween(tx, session, first - 1, last)];
  const isLinked = ({ links = [] }: LogRecord) =>
    links.some((text) => decodeLink(text)?.ranges.some(([, end]) => end >= last));
  if (records.some(isLinked)) return records;
  for (let cursor = last; cursor < through; ) {
    const page = context.recordsBetween(tx, session, cursor, Math.min(through, cursor + 64));
    for (const record of page) {
      records.push(record);
      if (isLinked(record)) return records;
    }
    cursor += 64;
  }
  return records;
}

/** Returns whether the records contain the start and the end of the turn. */
function isWholeTurn(records: readonly LogRecord[], turn: number): boolean {
  const has = (type: 'turn_started' | 'turn_finished') =>
    records.some((record) => record.turn === turn && record.fact?.type === type);
  return has('turn_started') && has('turn_finished');
}

/** Finds the offsets of a turn's records, outside of a transaction. Other work can run between two pages. */
async function findTurn(
  { reader }: LogContext,
  { session, through }: SessionRow,
  turn: number,
): Promise<OffsetRange | undefined> {
  let range: OffsetRange | undefined;
  for (let cursor = 0; cursor < through; ) {
    const page = await reader.records(session, cursor, batchBytes);
    for (const record of page)
      if (record.turn === turn) range = [range?.[0] ?? record.offset, record.offset];
    cursor = page.at(-1)?.offset ?? through;
    if (cursor < through) await nextTask();
  }
  return range;
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

/** Returns the records of the turn, and the facts of other turns that refer to items of this turn. */
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
