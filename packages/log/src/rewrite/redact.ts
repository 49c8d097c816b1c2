import {
  type BeginPart,
  emptyState,
  findItem,
  foldBatch,
  type ItemId,
  type LogRecord,
  type Part,
  type PartId,
  type SessionId,
  type Snapshot,
  type ToolCallId,
} from '@millrace/core';
import { withoutWords } from './redact-fact.ts';

/**
 * The log without the content of an item: its deltas are gone, snapshots do not have it, and facts do
 * not repeat it.
 */
export function withoutItem(records: readonly LogRecord[], item: ItemId): readonly LogRecord[] {
  const parts = new Set(records.flatMap((record) => partsOf(record, item)));
  const calls = new Set(records.flatMap((record) => callsOf(record, item)));
  return records.flatMap((record): LogRecord | readonly LogRecord[] => {
    const { delta, fact } = record;
    if (delta !== undefined)
      return delta.type !== 'unknown' && parts.has(delta.partId) ? [] : record;
    const left = fact.type === 'snapshot' ? without(fact, item) : withoutWords(fact, item, calls);
    return left === fact ? record : { ...record, fact: left };
  });
}

/**
 * What the log says of an item. It is `open` until it is finished and, because an attempt might still
 * be superseded and the item go on, until its turn is. `superseded` ones left with their attempt.
 */
export function standingOf(
  session: SessionId,
  records: readonly LogRecord[],
  item: ItemId,
): 'unknown' | 'open' | 'finished' | 'superseded' {
  const start = records.find(({ fact }) => fact?.type === 'item_started' && fact.itemId === item);
  if (start === undefined) return 'unknown';
  const { turn } = start;
  const isTurnOver =
    turn === 0 ||
    records.some((record) => record.fact?.type === 'turn_finished' && record.turn === turn);
  if (!isTurnOver) return 'open';
  const batch = { after: 0, through: records.at(-1)?.offset ?? 0, records };
  const found = findItem(foldBatch(emptyState(session), batch).state, item);
  if (found === undefined) return 'superseded';
  return found.finished === undefined ? 'open' : 'finished';
}

/** The parts of the item that a record names, as a delta or in a snapshot. */
function partsOf({ delta, fact }: LogRecord, item: ItemId): readonly PartId[] {
  if (fact?.type === 'snapshot')
    return fact.items.flatMap(({ itemId, parts }) =>
      itemId === item ? parts.map(({ partId }) => partId) : [],
    );
  const names =
    delta?.type === 'begin_part' || (delta?.type === 'commit_part' && delta.part !== undefined);
  return names && delta.itemId === item ? [delta.partId] : [];
}

/** The calls that the item made or answered. */
function callsOf({ delta, fact }: LogRecord, item: ItemId): readonly ToolCallId[] {
  if (fact?.type === 'snapshot')
    return fact.items.flatMap(({ itemId, parts }) =>
      itemId === item ? parts.flatMap(({ part }) => callOf(part)) : [],
    );
  if (delta?.type === 'begin_part' && delta.itemId === item) return callOf(delta);
  const isOwn = delta?.type === 'commit_part' && delta.part !== undefined && delta.itemId === item;
  return isOwn ? callOf(delta.part) : [];
}

function callOf(part: Part | BeginPart): readonly ToolCallId[] {
  return part.kind === 'tool_call' || part.kind === 'tool_result' ? [part.toolCallId] : [];
}

function without(snapshot: Snapshot, item: ItemId): Snapshot {
  return { ...snapshot, items: snapshot.items.filter(({ itemId }) => itemId !== item) };
}
