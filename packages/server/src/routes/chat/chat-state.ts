import {
  type Batch,
  emptyState,
  Folder,
  type FoldState,
  type LogRecord,
  sessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { unfit } from '../../stream/history.ts';

/**
 * A session as a chat has it: a run that is parked and those that go on with it are one run here,
 * because to the AI SDK they are one message.
 */
export interface ChatState {
  readonly fold: FoldState;
  /** Where to read on from; the fold's own moves with whole batches only. */
  readonly through: number;
  readonly isParked: boolean;
  /** Commands that wait, in the order in which they came. */
  readonly queue: readonly QueuedCommand[];
}

interface QueuedCommand {
  readonly key: string;
  readonly offset: number;
}

/** A record as it counts here, with the chat around it. */
export interface ChatStep {
  readonly before: ChatState;
  readonly record: LogRecord;
  readonly after: ChatState;
  /** A run that is parked ends here, or one that goes on with it begins: nothing, where they are one. */
  readonly isSeam: boolean;
}

export function emptyChat(taskId: string): ChatState {
  return { fold: emptyState(sessionId(taskId)), through: 0, isParked: false, queue: [] };
}

/** What a batch is in a chat. The states of the steps are places to read on from. */
export function foldChat(
  state: ChatState,
  batch: Batch,
): { readonly state: ChatState; readonly steps: readonly ChatStep[] } {
  const folder = new Folder({ ...state.fold, through: state.through });
  const fresh = joinParkedRuns(
    batch.records.filter(({ offset }) => offset > state.through),
    state,
  );
  const folded = new Map<LogRecord, FoldState>();
  const records = fresh.flatMap(({ record, isSeam }) => (isSeam ? [] : record));
  const { outcome } = folder.addBatch({ ...batch, records }, (_was, record, is) => {
    folded.set(record, is);
  });
  if (outcome === 'gap') throw unfit(state.fold.session, batch.after);
  const steps: ChatStep[] = [];
  let before = state;
  for (const { record, isSeam } of fresh) {
    const fold = folded.get(record) ?? before.fold;
    const after = { fold, through: record.offset, ...queueAfter(before, record) };
    steps.push({ before, record, after, isSeam });
    before = after;
  }
  return { state: { ...before, fold: folder.state, through: folder.state.through }, steps };
}

/** Reads all that there is by now. */
export async function readChat(
  log: Log,
  from: ChatState,
  onStep: (step: ChatStep) => void = () => {},
): Promise<ChatState> {
  const { session } = from.fold;
  let state = from;
  for (let isMore = true; isMore; ) {
    const page = await log.read(session, { from: state.through });
    isMore = page.through > state.through;
    const { state: next, steps } = foldChat(state, page);
    for (const step of steps) onStep(step);
    state = next;
  }
  return state;
}

/** Where runs that go on with others have their name. */
function joinParkedRuns(
  records: readonly LogRecord[],
  { fold, isParked }: ChatState,
): readonly Pick<ChatStep, 'record' | 'isSeam'>[] {
  let { run } = fold;
  let parked = isParked;
  return records.map((record) => {
    const { fact } = record;
    const isSeam = parksRun(record) || (parked && fact?.type === 'run_started');
    if (fact?.type === 'run_started' && !isSeam) run = fact.runId;
    parked = isParkedAfter({ isParked: parked }, record);
    if (fact?.type !== 'run_finished' || run === undefined) return { record, isSeam };
    const { delta: _, ...head } = record;
    return { record: { ...head, fact: { ...fact, runId: run } }, isSeam };
  });
}

function parksRun({ fact }: LogRecord): boolean {
  return fact?.type === 'run_finished' && fact.stop.reason === 'parked';
}

function isParkedAfter({ isParked }: Pick<ChatState, 'isParked'>, record: LogRecord): boolean {
  const type = record.fact?.type;
  return type === 'run_started' || type === 'run_finished' ? parksRun(record) : isParked;
}

function queueAfter(before: ChatState, record: LogRecord): Pick<ChatState, 'isParked' | 'queue'> {
  const { fact, offset } = record;
  const { queue } = before;
  const isParked = isParkedAfter(before, record);
  if (fact?.type === 'command_queued')
    return { isParked, queue: [...queue, { key: fact.key, offset }] };
  if (fact?.type !== 'command_consumed') return { isParked, queue };
  return { isParked, queue: queue.filter(({ key }) => key !== fact.key) };
}
