import { type Batch, type FoldState, isCut, type LogRecord } from '@millrace/core';
import type { FrameView } from '../contract/stream.ts';
import type { CallerTurns } from '../http/replies/caller-turns.ts';
import { mergeAdjacent } from './exact-batch.ts';
import { type Cursor, cursorId, idEndOf } from './frames/cursor.ts';
import { encodeChunk, encodeChunks, type FrameChunk, type Step } from './frames/frame-chunk.ts';
import type { History } from './history.ts';
import type { PastStates, ReadSession } from './past-states.ts';
import { historyGap, RunFolder } from './run-folder.ts';
import { pageLength, type SettledPage, type SettledPages } from './settled-pages.ts';

/** The data that a replay reads: the session, and the states and pages that the feed has in memory. */
export interface ReplaySource extends ReadSession {
  readonly history: History;
  readonly states: PastStates;
  readonly pages: SettledPages;
}

/**
 * Returns the frames after a cursor, at most up to `through`. Returns undefined if the history has not
 * reached the cursor yet.
 */
export async function replayLog(
  source: ReplaySource,
  view: FrameView,
  { cursor, through }: { readonly cursor: Cursor; readonly through: number },
  turns: CallerTurns,
): Promise<FrameChunk | undefined> {
  const { history, states, incarnation } = source;
  const { version } = states;
  const { offset, k } = cursor;
  const seen = k === undefined ? offset : offset - 1;
  await turns.next();
  // A view that encodes complete batches does not need a state.
  const state =
    view.batch === undefined
      ? (history.stateBefore(seen) ?? (await states.before(seen)))
      : undefined;
  const { records, end } = await readUpTo(source, state?.through ?? seen, { seen, through });
  if (end > history.state.through) return undefined;
  const isSeen = (record: LogRecord) => record.offset <= seen;
  const skip = k === undefined ? undefined : { offset, id: cursorId(cursor) };
  const range = { seen: records.filter(isSeen), later: records.filter((one) => !isSeen(one)) };
  const idEnd = idEndOf(incarnation);
  return replay(source, view, { version, state, ...range, after: seen, end, skip, idEnd }, turns);
}

/**
 * Returns frames for a client without a cursor. They contain one snapshot per finished turn instead of its
 * deltas.
 */
export async function replaySettled(
  source: ReplaySource,
  view: FrameView,
  { after, through }: { readonly after: number; readonly through: number },
  turns: CallerTurns,
): Promise<FrameChunk> {
  const { version } = source.states;
  await turns.next();
  const { base: state, records, end }: SettledPage = await source.pages.read(after, through);
  const isSeen = ({ offset }: LogRecord) => offset <= after;
  const range = { seen: records.filter(isSeen), later: records.filter((one) => !isSeen(one)) };
  const idEnd = idEndOf(source.incarnation);
  return replay(source, view, { version, state, ...range, after, end, idEnd }, turns);
}

/**
 * Returns whether an offset lies between the deltas of a finished turn. A client at this offset that has read
 * snapshots of turns may not have received all records before the offset.
 */
export async function isInFinishedTurn(
  source: ReplaySource,
  offset: number,
  turns: CallerTurns,
): Promise<boolean> {
  const { log, session, incarnation, history, states } = source;
  const { through } = history.state;
  if (offset === 0 || offset >= through) return false;
  await turns.next();
  const { through: start } = await states.before(offset, { isTurnOver: true });
  const found = new Map<number, { readonly first: number; last: number; isOver: boolean }>();
  const add = ({ turn, offset: at, delta, fact }: LogRecord) => {
    const isOver = fact?.type === 'snapshot';
    const first = isOver ? fact.covers[0] : at;
    const known = found.get(turn);
    if (known !== undefined && fact?.type === 'turn_finished') known.isOver = true;
    if (delta === undefined && !isOver) return;
    // An edit can retract a part after the turn has finished. This record does not belong to the finished
    // turn.
    if (known === undefined && turn > 0 && first <= offset)
      found.set(turn, { first, last: at, isOver });
    else if (known?.isOver === false) known.last = at;
  };
  const isOpen = () => [...found.values()].some(({ isOver }) => !isOver);
  for (let cursor = start; cursor < through && (cursor <= offset || isOpen()); ) {
    const page = await log.read(session, { from: cursor, incarnation, maxBytes: pageLength });
    for (const record of page.records) if (record.offset <= through) add(record);
    if (page.through <= cursor) break;
    cursor = page.through;
    await turns.next();
  }
  return [...found.values()].some(
    ({ first, last, isOver }) => isOver && first <= offset && offset < last,
  );
}

interface ReplayInput {
  /** The version of the known states before the records were read. */
  readonly version: number;
  /** The state before the first record. Undefined if the view does not use states. */
  readonly state: FoldState | undefined;
  readonly seen: readonly LogRecord[];
  readonly later: readonly LogRecord[];
  readonly after: number;
  readonly end: number;
  readonly idEnd: string;
  readonly skip?: { readonly offset: number; readonly id: string } | undefined;
}

async function replay(
  { states }: ReplaySource,
  view: FrameView,
  input: ReplayInput,
  turns: CallerTurns,
): Promise<FrameChunk> {
  const { version, later, after, end, state } = input;
  const batch = { after, through: end, records: mergeAdjacent(later) };
  // The replay starts in a turn of the event loop in which no other replay continues.
  await turns.next();
  if (view.batch !== undefined) return encodeChunk(batch, view.batch(batch), input.idEnd);
  if (state === undefined) return { after, through: end, bytes: Buffer.alloc(0) };
  const folder = new RunFolder(state);
  try {
    const chunk = await encodeInTurns(view, folder, input, batch, turns);
    // A redaction in between removes the states with the redacted content.
    if (states.version === version) states.remember(folder.state, { isTurnOver: false });
    return chunk;
  } catch (error) {
    // A record may change an item of an earlier run. In this case the steps are computed with all items.
    if (!isCut(folder.state.items)) throw error;
  }
  const whole = await states.whole(state.through);
  return encodeInTurns(view, new RunFolder(whole, { keepsItems: true }), input, batch, turns);
}

/** The replay encodes this many records at once. */
const recordsPerStep = 64;
/** The fold and the views read the list of open parts for each record. So many of them count as one more record. */
const openPerItem = 100;

/**
 * Encodes a batch as one chunk. The steps are not kept, because each step of a long message has its own list of parts.
 * In each turn of the event loop, only one of the replays in progress continues. Throws if a record does not fit the
 * state.
 */
async function encodeInTurns(
  view: FrameView,
  folder: RunFolder,
  { seen, after, skip, idEnd }: ReplayInput,
  { records, through }: Batch,
  turns: CallerTurns,
): Promise<FrameChunk> {
  const count = (items: number) =>
    turns.count(items * (1 + folder.state.open.length / openPerItem));
  for (let at = 0; at < seen.length; at += recordsPerStep) {
    const some = seen.slice(at, at + recordsPerStep);
    for (const record of some) folder.add(record);
    await count(some.length);
  }
  folder.advanceTo(after);
  const encoded: Buffer[] = [];
  for (let at = 0; at < records.length; at += recordsPerStep) {
    const some = records.slice(at, at + recordsPerStep);
    const batch = { after, through, records: some };
    const next = records[at + recordsPerStep];
    const options = { pieceBytes: Number.POSITIVE_INFINITY, skip, idEnd, next };
    for (const { bytes } of encodeChunks(view, batch, stepsOf(folder, some), options))
      encoded.push(bytes);
    await count(some.length);
  }
  folder.advanceTo(through);
  return { after, through, bytes: Buffer.concat(encoded) };
}

/** Yields the steps of records, one at a time. */
function* stepsOf(folder: RunFolder, records: readonly LogRecord[]): Generator<Step> {
  for (const record of records) {
    let step: Step | undefined;
    folder.add(record, (before, added, next) => {
      step = { before, record: added, after: next };
    });
    if (step !== undefined) yield step;
  }
}

/**
 * Reads the records from an offset up to `through`, or until it has passed `seen`. It never splits a settled
 * turn.
 */
async function readUpTo(
  { log, session, incarnation }: ReadSession,
  from: number,
  { seen, through }: { readonly seen: number; readonly through: number },
): Promise<{ readonly records: readonly LogRecord[]; readonly end: number }> {
  const read: LogRecord[] = [];
  let cursor = from;
  while (cursor < through && cursor <= seen) {
    const page = await log.read(session, { from: cursor, incarnation, maxBytes: pageLength });
    for (const record of page.records) read.push(record);
    if (page.through <= cursor) throw historyGap(session, cursor);
    cursor = page.through;
  }
  // A page never ends inside a settled turn. Therefore a record and the snapshot that covers it are on the
  // same page.
  const end = read.reduce((found, record) => Math.max(found, endOfCover(record)), 0);
  const last = Math.max(end, Math.min(through, cursor));
  return { records: read.filter(({ offset }) => offset <= last), end: last };

  function endOfCover({ fact, offset }: LogRecord): number {
    return fact?.type === 'snapshot' && fact.covers[0] <= through && offset > through ? offset : 0;
  }
}
