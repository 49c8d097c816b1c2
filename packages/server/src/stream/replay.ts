import {
  type Batch,
  emptyState,
  encodeRecord,
  Folder,
  type FoldState,
  type LogRecord,
  type SessionId,
} from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { FrameView } from '../contract/stream.ts';
import { isAppend, mergeAdjacent } from './exact-batch.ts';
import { type Cursor, cursorId, idEndOf } from './frames/cursor.ts';
import { encodeChunks, type FrameChunk, type Step } from './frames/frame-chunk.ts';
import { type History, historyGap } from './history.ts';

/** The approximate size of one replay. A client that is further behind gets several replays. */
const replayLength = 2 ** 18;

/** The range of records to replay. */
interface LogRange {
  readonly cursor: Cursor;
  readonly through: number;
  readonly incarnation: string;
}

/**
 * Returns the frames after a cursor, up to `through` or less. Returns undefined if the history has not
 * reached that offset yet.
 */
export async function replayLog(
  log: Log,
  view: FrameView,
  history: History,
  { cursor, through, incarnation }: LogRange,
): Promise<FrameChunk | undefined> {
  const { offset, k } = cursor;
  const seen = k === undefined ? offset : offset - 1;
  const state = history.stateBefore(seen);
  const range = { session: state.session, from: state.through, seen, through, incarnation };
  const { records, end } = await readUpTo(log, range);
  if (end > history.state.through) return undefined;
  const isSeen = (record: LogRecord) => record.offset <= seen;
  const skip = k === undefined ? undefined : { offset, id: cursorId(cursor) };
  const later = records.filter((record) => !isSeen(record));
  const idEnd = idEndOf(incarnation);
  return replay(view, {
    state,
    seen: records.filter(isSeen),
    later,
    after: seen,
    end,
    skip,
    idEnd,
  });
}

/** Returns frames for a client without a cursor. Finished turns are settled. */
export function replaySettled(
  view: FrameView,
  history: History,
  { after, incarnation }: { readonly after: number; readonly incarnation: string },
): FrameChunk {
  const { records, state } = history;
  const start = records.findIndex(({ offset }) => offset > after);
  const later = start < 0 ? [] : takeUpToLength(records, start, history);
  const seen = start < 0 ? records : records.slice(0, start);
  const isAll = start < 0 || start + later.length === records.length;
  const end = isAll ? state.through : (later.at(-1)?.offset ?? state.through);
  const idEnd = idEndOf(incarnation);
  return replay(view, { state: emptyState(state.session), seen, later, after, end, idEnd });
}

interface ReplayInput {
  readonly state: FoldState;
  readonly seen: readonly LogRecord[];
  readonly later: readonly LogRecord[];
  readonly after: number;
  readonly end: number;
  readonly idEnd: string;
  readonly skip?: { readonly offset: number; readonly id: string } | undefined;
}

function replay(view: FrameView, input: ReplayInput): FrameChunk {
  const { later, after, end, skip, idEnd } = input;
  const batch = { after, through: end, records: mergeAdjacent(later) };
  // A view that encodes whole batches does not need the states before and after each record.
  const steps = view.batch === undefined ? stepsOf(input, batch) : [];
  const options = { pieceBytes: Number.POSITIVE_INFINITY, skip, idEnd };
  const [chunk] = encodeChunks(view, batch, steps, options);
  return chunk ?? { after, through: end, bytes: Buffer.alloc(0) };
}

function stepsOf({ state, seen, after }: ReplayInput, { records }: Batch): readonly Step[] {
  const folder = new Folder(state);
  foldBatch(folder, {
    after: state.through,
    through: Math.max(after, state.through),
    records: seen,
  });
  const steps: Step[] = [];
  for (const record of records) {
    const { through } = folder.state;
    foldBatch(folder, { after: through, through: record.offset, records: [record] }, steps);
  }
  return steps;
}

function foldBatch(folder: Folder, batch: Batch, steps?: Step[]): void {
  const folded = folder.addBatch(batch, (before, record, after) => {
    steps?.push({ before, record, after });
  });
  if (folded.outcome !== 'gap') return;
  throw historyGap(folder.state.session, batch.after);
}

interface ReadRange {
  readonly session: SessionId;
  readonly from: number;
  readonly seen: number;
  readonly through: number;
  readonly incarnation: string;
}

/**
 * Reads the records after a state, up to an offset or until there are enough records. It does not split a
 * settled turn.
 */
async function readUpTo(
  log: Log,
  { session, from, seen, through, incarnation }: ReadRange,
): Promise<{ readonly records: readonly LogRecord[]; readonly end: number }> {
  const read: LogRecord[] = [];
  let cursor = from;
  while (cursor < through && cursor <= seen) {
    const page = await log.read(session, { from: cursor, incarnation, maxBytes: replayLength });
    for (const record of page.records) read.push(record);
    if (page.through <= cursor) throw historyGap(session, cursor);
    cursor = page.through;
  }
  // A page never ends inside a settled turn. The snapshot that covers an offset is therefore on the same
  // page.
  const end = read.reduce((found, record) => Math.max(found, endOfCover(record)), 0);
  const last = Math.max(end, Math.min(through, cursor));
  return { records: read.filter(({ offset }) => offset <= last), end: last };

  function endOfCover({ fact, offset }: LogRecord): number {
    return fact?.type === 'snapshot' && fact.covers[0] <= through && offset > through ? offset : 0;
  }
}

/** Returns the records up to the size of a replay, without splitting a settled turn. */
function takeUpToLength(
  records: readonly LogRecord[],
  start: number,
  history: History,
): readonly LogRecord[] {
  let length = 0;
  for (let index = start; index < records.length; index++) {
    const record = records[index];
    if (record === undefined) break;
    length += estimatedLength(record);
    const isEnough = length >= replayLength && !history.isSettled(record.offset);
    if (isEnough) return records.slice(start, index + 1);
  }
  return records.slice(start);
}

function estimatedLength(record: LogRecord): number {
  return isAppend(record) ? record.delta.chunk.length + 200 : encodeRecord(record).length;
}

/**
 * How long a chunk is cached, in milliseconds. It is long enough for many clients that reconnect at the
 * same time.
 */
const cacheMs = 2_000;

/**
 * Caches replayed chunks for a short time. If many clients reconnect at once, for example after a restart,
 * each chunk is read and encoded only once.
 */
export class ReplayCache {
  readonly #maxBytes: number;
  readonly #pending = new Map<string, Promise<FrameChunk | undefined>>();
  /** The cached chunks. The oldest one is first. */
  readonly #chunks = new Map<string, FrameChunk>();
  #bytes = 0;
  readonly #clock: Clock;
  #stopClearing: (() => void) | undefined;

  constructor(maxBytes: number, clock: Clock) {
    this.#maxBytes = maxBytes;
    this.#clock = clock;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string, create: () => Promise<FrameChunk | undefined>): Promise<FrameChunk | undefined> {
    const cached = this.#chunks.get(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const created = create()
      .then((chunk) => {
        if (this.#pending.get(key) === created && chunk !== undefined) this.#store(key, chunk);
        return chunk;
      })
      .finally(() => {
        if (this.#pending.get(key) === created) this.#pending.delete(key);
      });
    this.#pending.set(key, created);
    return created;
  }

  clear(): void {
    this.#pending.clear();
    this.#chunks.clear();
    this.#bytes = 0;
    this.#stopClearing?.();
    this.#stopClearing = undefined;
  }

  #store(key: string, chunk: FrameChunk): void {
    if (chunk.bytes.length > this.#maxBytes) return;
    this.#chunks.set(key, chunk);
    this.#stopClearing ??= this.#clock.after(cacheMs, () => this.clear(), { isIdle: true });
    this.#bytes += chunk.bytes.length;
    for (const [oldest, { bytes }] of this.#chunks) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#chunks.delete(oldest);
      this.#bytes -= bytes.length;
    }
  }
}
