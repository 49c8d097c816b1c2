import {
  type Batch,
  emptyState,
  Folder,
  type FoldState,
  isCut,
  type LogRecord,
  sessionId,
} from '@millrace/core';
import { isParkedAfter, type JoinedRecord, joinParkedRuns } from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import { PastStates } from '../../stream/past-states.ts';
import { historyGap } from '../../stream/run-folder.ts';

/**
 * The state of a chat. A parked run and its continuations count as one run, because the AI SDK shows them as
 * one message.
 */
export interface ChatState {
  readonly fold: FoldState;
  /** The offset from which reading continues. The offset in `fold` changes only after a complete batch. */
  readonly through: number;
  readonly isParked: boolean;
  /** The queued commands, in the order in which they arrived. */
  readonly queue: readonly QueuedCommand[];
}

/** The size of one read. The server answers other requests after each read. */
const pageBytes = 2 ** 16;

interface QueuedCommand {
  readonly key: string;
  readonly offset: number;
}

/** A record with the chat state before it and after it. */
export interface ChatStep extends JoinedRecord {
  readonly before: ChatState;
  readonly after: ChatState;
}

export function emptyChat(taskId: string): ChatState {
  return { fold: emptyState(sessionId(taskId)), through: 0, isParked: false, queue: [] };
}

/**
 * Finds the last run that ended at or before the offset, and returns the state of the chat at its end. The
 * state omits the items of that run and of earlier runs, and earlier queued commands. Loading therefore takes
 * the same time for long and short chats.
 */
export async function chatNear(log: Log, taskId: string, offset: number): Promise<ChatState> {
  const session = sessionId(taskId);
  const { incarnation } = (await log.info(session)) ?? {};
  if (incarnation === undefined) return emptyChat(taskId);
  const fold = await new PastStates({ log, session, incarnation }).before(offset);
  return { ...emptyChat(taskId), fold, through: fold.through };
}

/**
 * Reads a chat from the end of a run at or before an offset, up to its current end. Default: the end of the
 * last run. If a record changes an item of an earlier run, the chat is read again with all items, and
 * `onStep` is called again for each step. The cost does not depend on the length of the chat.
 */
export async function readChatNear(
  log: Log,
  taskId: string,
  onStep: (step: ChatStep) => void = () => {},
  offset?: number,
): Promise<ChatState> {
  const near = await chatNear(log, taskId, offset ?? (await log.info(taskId))?.through ?? 0);
  try {
    return await readChat(log, near, onStep);
  } catch (error) {
    if (!isCut(near.fold.items)) throw error;
    return readChat(log, emptyChat(taskId), onStep);
  }
}

/** Adds a batch to the state. A reader can continue from the state after any step. */
export function foldChat(
  state: ChatState,
  batch: Batch,
): { readonly state: ChatState; readonly steps: readonly ChatStep[] } {
  const folder = new Folder({ ...state.fold, through: state.through });
  const { joined: fresh } = joinParkedRuns(
    batch.records.filter(({ offset }) => offset > state.through),
    { run: state.fold.run, isParked: state.isParked },
  );
  const folded = new Map<LogRecord, FoldState>();
  const records = fresh.flatMap(({ record, isParkBoundary }) => (isParkBoundary ? [] : record));
  const { outcome } = folder.addBatch({ ...batch, records }, (_was, record, is) => {
    folded.set(record, is);
  });
  if (outcome === 'gap') throw historyGap(state.fold.session, batch.after);
  const steps: ChatStep[] = [];
  let before = state;
  for (const { record, isParkBoundary } of fresh) {
    const fold = folded.get(record) ?? before.fold;
    const after = { fold, through: record.offset, ...queueAfter(before, record) };
    steps.push({ before, record, after, isParkBoundary });
    before = after;
  }
  return { state: { ...before, fold: folder.state, through: folder.state.through }, steps };
}

/** Reads the log from the given state to its current end and returns the new state. */
async function readChat(
  log: Log,
  from: ChatState,
  onStep: (step: ChatStep) => void = () => {},
): Promise<ChatState> {
  const { session } = from.fold;
  let state = from;
  for (let isMore = true; isMore; ) {
    const page = await log.read(session, { from: state.through, maxBytes: pageBytes });
    isMore = page.through > state.through;
    const { state: next, steps } = foldChat(state, page);
    for (const step of steps) onStep(step);
    state = next;
  }
  return state;
}

function queueAfter(before: ChatState, record: LogRecord): Pick<ChatState, 'isParked' | 'queue'> {
  const { fact, offset } = record;
  const { queue } = before;
  const isParked = isParkedAfter(before.isParked, record);
  if (fact?.type === 'command_queued')
    return { isParked, queue: [...queue, { key: fact.key, offset }] };
  if (fact?.type !== 'command_consumed') return { isParked, queue };
  return { isParked, queue: queue.filter(({ key }) => key !== fact.key) };
}
