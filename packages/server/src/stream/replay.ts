import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Batch, type FoldState, isCut, type LogRecord } from '@millrace/core';
import type { FrameView } from '../contract/stream.ts';
import { mergeAdjacent } from './exact-batch.ts';
import { type Cursor, cursorId, idEndOf } from './frames/cursor.ts';
import { encodeChunks, type FrameChunk, type Step } from './frames/frame-chunk.ts';
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
): Promise<FrameChunk | undefined> {
  const { history, states, incarnation } = source;
  const { offset, k } = cursor;
  const seen = k === undefined ? offset : offset - 1;
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
  return replay(source, view, { state, ...range, after: seen, end, skip, idEnd });
}

/**
 * Returns frames for a client without a cursor. They contain one snapshot per finished turn instead of its
 * deltas.
 */
export async function replaySettled(
  source: ReplaySource,
  view: FrameView,
  { after, through }: { readonly after: number; readonly through: number },
): Promise<FrameChunk> {
  const { base: state, records, end }: SettledPage = await source.pages.read(after, through);
  const isSeen = ({ offset }: LogRecord) => offset <= after;
  const range = { seen: records.filter(isSeen), later: records.filter((one) => !isSeen(one)) };
  return replay(source, view, { state, ...range, after, end, idEnd: idEndOf(source.incarnation) });
}

/**
 * Returns whether an offset lies between the deltas of a finished turn. A client at this offset that has read
 * snapshots of turns may not have received all records before the offset.
 */
export async function isInFinishedTurn(source: ReplaySource, offset: number): Promise<boolean> {
  const { log, session, incarnation, history, states } = source;
  const { through } = history.state;
  if (offset === 0 || offset >= through) return false;
  const { through: start } = await states.before(offset, { isTurnOver: true });
  const turns = new Map<number, { readonly first: number; last: number; isOver: boolean }>();
  const add = ({ turn, offset: at, delta, fact }: LogRecord) => {
    const isOver = fact?.type === 'snapshot';
    const first = isOver ? fact.covers[0] : at;
    const known = turns.get(turn);
    if (known !== undefined && fact?.type === 'turn_finished') known.isOver = true;
    if (delta === undefined && !isOver) return;
    // An edit can retract a part after the turn has finished. This record does not belong to the finished
    // turn.
    if (known === undefined && turn > 0 && first <= offset)
      turns.set(turn, { first, last: at, isOver });
    else if (known?.isOver === false) known.last = at;
  };
  const isOpen = () => [...turns.values()].some(({ isOver }) => !isOver);
  for (let cursor = start; cursor < through && (cursor <= offset || isOpen()); ) {
    const page = await log.read(session, { from: cursor, incarnation, maxBytes: pageLength });
    for (const record of page.records) if (record.offset <= through) add(record);
    if (page.through <= cursor) break;
    cursor = page.through;
  }
  return [...turns.values()].some(
    ({ first, last, isOver }) => isOver && first <= offset && offset < last,
  );
}

interface ReplayInput {
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
): Promise<FrameChunk> {
  const { later, after, end, skip, idEnd, state } = input;
  const batch = { after, through: end, records: mergeAdjacent(later) };
  const options = { pieceBytes: Number.POSITIVE_INFINITY, skip, idEnd };
  const encode = (steps: Iterable<Step>): FrameChunk => {
    const [chunk] = encodeChunks(view, batch, steps, options);
    return chunk ?? { after, through: end, bytes: Buffer.alloc(0) };
  };
  // Other requests run between the pages of a replay.
  await nextTurn();
  if (view.batch !== undefined || state === undefined) return encode([]);
  const folder = new RunFolder(state);
  try {
    // The steps are not kept, because each step of a long message has its own list of parts.
    const chunk = encode(stepsOf(folder, input, batch));
    states.remember(folder.state, { isTurnOver: false });
    return chunk;
  } catch (error) {
    // A record may change an item of an earlier run. In this case the steps are computed with all items.
    if (!isCut(folder.state.items)) throw error;
  }
  const whole = await states.whole(state.through);
  return encode(stepsOf(new RunFolder(whole, { keepsItems: true }), input, batch));
}

/** Yields the steps of a batch, one at a time. Throws if a record does not fit the state. */
function* stepsOf(
  folder: RunFolder,
  { seen, after }: ReplayInput,
  { records, through }: Batch,
): Generator<Step> {
  for (const record of seen) folder.add(record);
  folder.advanceTo(after);
  for (const record of records) {
    let step: Step | undefined;
    folder.add(record, (before, added, next) => {
      step = { before, record: added, after: next };
    });
    if (step !== undefined) yield step;
  }
  folder.advanceTo(through);
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
