import {
  type Attempt,
  emptyState,
  Folder,
  type FoldState,
  type ItemId,
  type ItemKind,
  isCut,
  type LogRecord,
  type SessionId,
} from '@millrace/core';
import { findRunEnd, type Log, readBackward, sessionStates, stateAfterRun } from '@millrace/log';
import { emptyLoopState, type LoopState } from '../contract/loop-state.ts';
import { foldLoop, loopFold } from '../state/fold-loop.ts';

/** The moment at which an attempt started. */
export interface AttemptStart {
  /** The state immediately before the attempt. It may lack old items that no request contains. */
  readonly state: FoldState;
  /** The state of the loop, as far as requests depend on it. */
  readonly loop: LoopState;
  readonly kind: ItemKind;
  readonly provider: string;
  readonly model: string;
}

/** The record with which an attempt started, and what is known about the attempt. */
interface FoundStart extends Omit<AttemptStart, 'state' | 'loop'> {
  /** The offset of the record that started the item of the attempt. */
  readonly offset: number;
}

/**
 * Finds the start of an attempt, and the states before it. It reads the records around the attempt, and then
 * backwards to the last compaction and the items that it kept. Without a compaction, it reads from the first
 * record, because the request then contains all items.
 */
export async function findAttemptStart(
  log: Log,
  session: SessionId,
  at: Attempt,
): Promise<AttemptStart | undefined> {
  const turnStart = await findTurnStart(log, session, at.turn);
  if (turnStart === undefined) return undefined;
  const found = await findItemStart(log, session, at, turnStart);
  if (found === undefined) return undefined;
  const { offset, ...start } = found;
  const { base, records } = await findBase(log, session, offset - 1);
  const before =
    (await foldUpTo(log, base, offset - 1, records)) ??
    // A record changed an old item, which the base does not contain.
    (await foldUpTo(log, emptyState(session), offset - 1));
  if (before === undefined) return undefined;
  // A loop state that was folded from the first record already has the agent.
  const agent = before.isWhole ? before.loop.agent : await findAgent(log, session, offset - 1);
  return { ...start, state: before.state, loop: { ...before.loop, agent } };
}

/** The size of one read during a search. */
const searchBytes = 2 ** 14;
/** A range with at most this many records is read completely. */
const smallRange = 256;

/** Finds the offset at which a turn started, by binary search, because the numbers of turns only increase. */
async function findTurnStart(
  log: Log,
  session: SessionId,
  turn: number,
): Promise<number | undefined> {
  let [low, high] = [0, (await log.info(session))?.through ?? 0];
  while (low < high) {
    const middle = high - low > smallRange ? (low + high) >>> 1 : low;
    const next = await nextTurnStart(log, session, middle, high);
    if (next?.turn === turn) return next.offset;
    if (next !== undefined && next.turn < turn) low = next.offset;
    else high = middle;
  }
  return undefined;
}

/** Returns the first record in a range that starts a turn. */
async function nextTurnStart(
  log: Log,
  session: SessionId,
  after: number,
  through: number,
): Promise<LogRecord | undefined> {
  for await (const record of recordsIn(log, session, after, through))
    if (record.fact?.type === 'turn_started') return record;
  return undefined;
}

/** Finds the item that an attempt wrote its answer to. It reads the records of the turn. */
async function findItemStart(
  log: Log,
  session: SessionId,
  { turn, attempt }: Attempt,
  turnStart: number,
): Promise<FoundStart | undefined> {
  /** The last item of the attempt that has started so far. */
  let last: { readonly id: ItemId; readonly kind: ItemKind; readonly offset: number } | undefined;
  for await (const record of recordsIn(log, session, turnStart, Number.POSITIVE_INFINITY)) {
    const { fact, offset } = record;
    if (fact?.type === 'turn_started') return undefined;
    if (record.turn !== turn || record.attempt !== attempt) continue;
    if (fact?.type === 'item_started') last = { id: fact.itemId, kind: fact.kind, offset };
    if (fact?.type === 'response_started' && last?.id === fact.itemId)
      return { offset: last.offset, kind: last.kind, provider: fact.provider, model: fact.model };
  }
  return undefined;
}

/**
 * Returns a state from which the items of a request can be folded. It is the end of a run before the newest
 * item that the last compaction covers. All earlier items are covered too, because a compaction covers the
 * oldest items of a request.
 */
async function findBase(log: Log, session: SessionId, through: number): Promise<Base> {
  let covered: ReadonlySet<ItemId> | undefined;
  const ranges: (readonly LogRecord[])[] = [];
  for await (const records of readBackward(log, session, { through })) {
    ranges.unshift(records);
    for (const { fact, offset } of records.toReversed()) {
      if (fact?.type === 'compacted' && fact.itemIds.length > 0) covered ??= new Set(fact.itemIds);
      if (fact?.type !== 'item_started' || !covered?.has(fact.itemId)) continue;
      const end = await findRunEnd(log, session, { through: offset - 1 });
      return { base: end === undefined ? emptyState(session) : stateAfterRun(session, end) };
    }
    if (ranges.length > keptRanges) ranges.pop();
  }
  const isWhole = ranges.length < keptRanges;
  return { base: emptyState(session), ...(isWhole && { records: ranges.flat() }) };
}

/** The state from which a request is folded. */
interface Base {
  readonly base: FoldState;
  /** All records after the base, if they are already in memory. */
  readonly records?: readonly LogRecord[];
}

/** The number of ranges that stay in memory while a compaction is searched. It limits the memory. */
const keptRanges = 8;

interface FoldedRecords {
  readonly state: FoldState;
  readonly loop: LoopState;
  /** True if the records were folded from the first record of the session. */
  readonly isWhole: boolean;
}

/**
 * Folds the records after a state. Returns undefined if a record changes an item that the state does not
 * contain.
 */
async function foldUpTo(
  log: Log,
  from: FoldState,
  through: number,
  known?: readonly LogRecord[],
): Promise<FoldedRecords | undefined> {
  const folder = new Folder(from);
  let loop = emptyLoopState;
  for await (const record of known ?? recordsIn(log, from.session, from.through, through)) {
    const batch = { after: folder.state.through, through: record.offset, records: [record] };
    const { outcome } = folder.addBatch(batch);
    if (outcome === 'gap' && isCut(from.items)) return undefined;
    loop = foldLoop(loop, record);
  }
  return { state: folder.state, loop, isWhole: from.through === 0 };
}

/** Returns the agent that the session was handed off to before an offset. */
async function findAgent(
  log: Log,
  session: SessionId,
  through: number,
): Promise<string | undefined> {
  const { value: loop } = await sessionStates(log).load(session, loopFold);
  // The session was never handed off, so no earlier record has to be read.
  if (loop.agent === undefined) return undefined;
  /** The turns that finished before the offset. A hand-off takes effect when its turn finishes. */
  const finished = new Set<number>();
  let agent: string | undefined;
  let agentTurn: number | undefined;
  for await (const records of readBackward(log, session, { through }))
    for (const { fact, turn } of records.toReversed()) {
      if (fact?.type === 'turn_finished') finished.add(turn);
      // Only the first hand-off of a turn counts.
      if (fact?.type === 'handed_off' && finished.has(turn)) [agent, agentTurn] = [fact.to, turn];
      if (fact?.type === 'turn_started' && turn === agentTurn) return agent;
    }
  return agent;
}

/** Yields the records of a range, in small pages. */
async function* recordsIn(
  log: Log,
  session: SessionId,
  after: number,
  through: number,
): AsyncGenerator<LogRecord> {
  for (let from = after; from < through; ) {
    const page = await log.read(session, { from, maxBytes: searchBytes });
    for (const record of page.records) {
      if (record.offset > through) return;
      yield record;
    }
    if (page.through <= from) return;
    from = page.through;
  }
}
