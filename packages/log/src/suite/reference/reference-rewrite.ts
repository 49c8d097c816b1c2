import {
  type DraftRecord,
  emptyState,
  encodeRecord,
  type FoldState,
  findItem,
  foldBatch,
  type ItemId,
  type LogRecord,
  type PartId,
  type SessionId,
  sessionId,
  settleTurn,
  type ToolCallId,
} from '@millrace/core';
import type { ForkOptions, RestoreOptions } from '../../contract/log.ts';
import { readableDrafts } from '../../engine/readable-draft.ts';
import { redactFact } from '../../rewrite/redact.ts';
import { referencedBlobs } from '../../storage/blob-references.ts';
import {
  openWork,
  type ReferenceSession,
  type ReferenceStore,
  refusal,
} from './reference-store.ts';

export function settle(store: ReferenceStore, found: ReferenceSession, turn: number): boolean {
  const before = found.records;
  found.records = settleTurn(before, turn, stateOf(found));
  store.dropBlobs(before);
  store.notifyChange();
  return found.records !== before;
}

export function redact(
  store: ReferenceStore,
  found: ReferenceSession,
  itemId: ItemId,
  reason?: string,
): void {
  const before = found.records;
  const start = before.find(({ fact }) => fact?.type === 'item_started' && fact.itemId === itemId);
  if (start === undefined) throw refusal('bad_option');
  const item = findItem(stateOf(found), itemId);
  const isTurnOver = before.some(
    ({ fact, turn }) => fact?.type === 'turn_finished' && turn === start.turn,
  );
  const isOver = start.turn === 0 ? item?.finished : isTurnOver && (!item || item.finished);
  if (!isOver) throw refusal('bad_records');
  found.records = withoutItem(before, itemId);
  const fact = { type: 'item_redacted', itemId, ...(reason !== undefined && { reason }) } as const;
  // Readers have already removed the items of a superseded attempt, so the log adds no fact about them.
  if (item !== undefined) store.add(found, [{ turn: 0, attempt: 0, fact }], 'store');
  store.dropBlobs(before);
  store.notifyChange();
}

export function fork(
  store: ReferenceStore,
  found: ReferenceSession,
  { into: given, through, append: drafts = [], onCopy }: ForkOptions,
): ReferenceSession {
  const into = sessionId(given);
  const append = readableDrafts(drafts, into);
  const { session, records } = found;
  if (store.sessions.has(into)) throw refusal('session_exists', { session: into });
  const ends = [0, found.through, ...records.map(({ offset }) => offset)];
  if (!ends.includes(through) || isInsideSettled(records, through))
    throw refusal('bad_offset', { session, offset: through });
  const kept = records.filter(({ offset }) => offset <= through);
  onCopy?.(kept.reduce((bytes, record) => bytes + encodeRecord(record).length, 0));
  const queued = [...openWork(kept)].filter((work) => work.startsWith('command '));
  const copy = copySession(store, into, kept, { session, through });
  copy.through = through;
  const started = new Set(
    kept.map(({ fact }) => (fact?.type === 'item_started' ? fact.itemId : undefined)),
  );
  const later = records.flatMap(({ offset, fact }) =>
    fact?.type === 'item_redacted' && offset > through && started.has(fact.itemId) ? fact : [],
  );
  const last = new Map(later.map((fact) => [fact.itemId, fact]));
  const marks = [...last.values()].map((fact) => ({ turn: 0, attempt: 0, fact }));
  store.add(copy, [...marks, ...queued.map(consumed), ...append], 'store');
  for (const { offset, fact } of copy.records)
    if (fact?.type === 'command_queued') copy.commands.set(fact.key, offset);
  return copy;
}

export function restore(
  store: ReferenceStore,
  session: SessionId,
  records: readonly LogRecord[],
  { origin, through = 0, ...options }: RestoreOptions,
): ReferenceSession {
  const keys = records.flatMap(({ fact }) => (fact?.type === 'command_queued' ? fact.key : []));
  const isInOrder = records.every(
    ({ offset }, index) =>
      Number.isSafeInteger(offset) && offset > (records[index - 1]?.offset ?? 0),
  );
  if (!isInOrder || new Set(keys).size < keys.length) throw refusal('bad_records');
  if (store.sessions.has(session)) throw refusal('session_exists', { session });
  const copy = copySession(store, session, records, origin);
  return Object.assign(copy, options, { through: Math.max(through, copy.through) });
}

/** Creates a session with copied records, and with the commands and producers that the records describe. */
function copySession(
  store: ReferenceStore,
  session: SessionId,
  records: readonly LogRecord[],
  origin: ReferenceSession['origin'],
): ReferenceSession {
  const copy = store.make(session, origin);
  copy.records = records;
  for (const hash of referencedBlobs(records)) store.hold(hash, -1);
  copy.through = records.at(-1)?.offset ?? 0;
  for (const { offset, fact, turn, attempt } of records) {
    const producer = `request ${turn} 0 `;
    if (fact?.type === 'command_queued') copy.commands.set(fact.key, offset);
    if (fact?.type === 'turn_finished') copy.producers.delete(producer);
    const last = copy.producers.get(producer)?.attempt ?? 0;
    if (fact?.type === 'turn_finished' || turn === 0 || attempt === 0 || attempt < last) continue;
    // The attempt is already superseded if the records contain this fact. Otherwise, a retry will supersede
    // it.
    const isOut =
      fact?.type === 'attempt_superseded' ||
      (attempt === last && copy.producers.get(producer)?.epoch === 0);
    const none = { driverEpoch: 0, isRequest: true, sequence: 0, through: 0 };
    copy.producers.set(producer, { ...none, turn, attempt, epoch: isOut ? 0 : 1 });
  }
  return copy;
}

/** Returns whether the offset is inside a range that a snapshot replaces. */
export function isInsideSettled(records: readonly LogRecord[], through: number): boolean {
  return records.some(
    ({ fact }) =>
      fact?.type === 'snapshot' && fact.covers[0] <= through && through < fact.covers[1],
  );
}

function consumed(work: string): DraftRecord {
  const key = work.slice('command '.length);
  return { turn: 0, attempt: 0, fact: { type: 'command_consumed', key } };
}

function stateOf({ session, records, through }: ReferenceSession): FoldState {
  return foldBatch(emptyState(session), { after: 0, through, records }).state;
}

function withoutItem(records: readonly LogRecord[], item: ItemId): readonly LogRecord[] {
  const parts = new Set(records.flatMap((record) => partsOf(record, item)));
  const calls = new Set(records.flatMap((record) => callsOf(record, parts)));
  const isLeft = ({ delta }: LogRecord) =>
    delta === undefined || !('partId' in delta) || !parts.has(delta.partId);
  return records.filter(isLeft).map((record): LogRecord => {
    if (record.delta !== undefined) return record;
    if (record.fact.type !== 'snapshot')
      return { ...record, fact: redactFact(record.fact, item, calls) };
    const items = record.fact.items.filter(({ itemId }) => itemId !== item);
    return { ...record, fact: { ...record.fact, items } };
  });
}

function callsOf({ delta, fact }: LogRecord, parts: ReadonlySet<PartId>): readonly ToolCallId[] {
  const settled = fact?.type === 'snapshot' ? fact.items.flatMap((item) => item.parts) : [];
  const own = settled.filter(({ partId }) => parts.has(partId)).map(({ part }) => part);
  const told = delta !== undefined && 'partId' in delta && parts.has(delta.partId) ? [delta] : [];
  const named = told.map((one) => ('part' in one ? one.part : one));
  return [...own, ...named].flatMap((one) =>
    one !== undefined && 'toolCallId' in one && one.toolCallId !== undefined ? one.toolCallId : [],
  );
}

function partsOf({ delta, fact }: LogRecord, item: ItemId): readonly PartId[] {
  const settled = fact?.type === 'snapshot' ? fact.items : [];
  const own = settled.filter(({ itemId }) => itemId === item).flatMap(({ parts }) => parts);
  const isNamed = delta !== undefined && 'itemId' in delta && delta.itemId === item;
  return [...own.map(({ partId }) => partId), ...(isNamed ? [delta.partId] : [])];
}
