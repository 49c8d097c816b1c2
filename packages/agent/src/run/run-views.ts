import {
  type AgentEvent,
  agentEvents,
  type Batch,
  type ErrorInfo,
  Folder,
  type FoldState,
  type Item,
  isMillraceError,
  noUsage,
  type Part,
  type SessionId,
  type Stop,
  toArray,
  totalUsage,
  transcript,
  type Usage,
  type View,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { RunResult } from '../contract/run.ts';

/** Where the views of a run read its records. */
export interface RunEventSource {
  readonly log: Log;
  /** The session state before the run. Rejects if the run could not start. */
  readonly initialState: Promise<FoldState>;
  /** Aborts when the run has ended. */
  readonly ended: AbortSignal;
  /** The offset of the run's last record so far. */
  readonly through: () => number;
  /** Aborts when the reader leaves. */
  readonly left?: AbortSignal | undefined;
}

/** The events of a run from its first record on, for one reader. */
export function runEvents(source: RunEventSource): AsyncGenerator<AgentEvent> {
  return runView(source, agentEvents);
}

/**
 * A view of a run from its first record on, for one reader. The reader may start late and read
 * slowly.
 */
export async function* runView<Event>(
  { log, initialState, ended, through, left }: RunEventSource,
  view: View<Event>,
): AsyncGenerator<Event> {
  const before = await initialState.catch(() => undefined);
  if (before === undefined) return;
  const { session, through: from } = before;
  const folder = new Folder(before);
  const own = (batch: Batch) => (ended.aborted ? cutBatch(batch, through()) : batch);
  const signal = left === undefined ? ended : AbortSignal.any([ended, left]);
  for await (const batch of log.follow(session, { from, signal })) {
    for (const event of eventsOf(folder, own(batch), view)) yield event;
    if (ended.aborted && folder.state.through >= through()) return;
  }
  if (left?.aborted) return;
  // The run ended while this reader was behind. The remaining records are on the log.
  while (folder.state.through < through()) {
    const batch = await log.read(session, { from: folder.state.through });
    if (batch.through <= folder.state.through) return;
    for (const event of eventsOf(folder, own(batch), view)) yield event;
  }
}

/** Removes records of later runs. */
function cutBatch({ after, through, records }: Batch, last: number): Batch {
  if (through <= last) return { after, through, records };
  return { after, through: last, records: records.filter(({ offset }) => offset <= last) };
}

function eventsOf<Event>(folder: Folder, batch: Batch, view: View<Event>): readonly Event[] {
  const events: Event[] = [];
  folder.addBatch(batch, (old, record, state) => events.push(...view(old, record, state)));
  return events;
}

/** The parts of a result that are not in the session state. */
interface RunOutcome {
  /** The validated answer. */
  readonly value: unknown;
  readonly error: ErrorInfo | undefined;
  readonly cause: unknown;
}

/** Creates the result from the session states before and after the run. */
export function createRunResult(
  before: FoldState,
  after: FoldState,
  stop: Stop,
  input: readonly Item[],
  { value: answered, error, cause }: RunOutcome,
): RunResult {
  const known = new Set([...toArray(before.items), ...input].map(({ id }) => id));
  const items = transcript(after).filter(({ id }) => !known.has(id));
  const last = items.findLast(({ kind }) => kind === 'assistant');
  const text = joinText(last?.parts ?? []);
  const value = stop.reason === 'stop' && answered !== undefined ? { value: answered } : {};
  const thrown = cause === undefined ? {} : { cause };
  const why = stop.reason === 'error' && error ? { error, ...thrown } : {};
  const usage = usageSince(after, before);
  return { session: after.session, stop, text, ...value, items, usage, ...why };
}

/** The result if the log failed or another process has the lease. */
export function failedResult(session: SessionId, error: unknown): RunResult {
  const info = errorInfoOf(error);
  const stop = { reason: 'error', cause: info.code } as const;
  return { session, stop, text: '', items: [], usage: noUsage, error: info, cause: error };
}

/** Messages of unknown errors may be private, so only `cause` has them, in this process. */
function errorInfoOf(error: unknown): ErrorInfo {
  if (isMillraceError(error)) return { code: error.code, message: error.message };
  return {
    code: 'unknown',
    message: 'Cannot continue: an unexpected error was thrown. See the cause of the result',
  };
}

/** Joins the text parts. */
export function joinText(parts: readonly (Part | undefined)[]): string {
  return parts.map((part) => (part?.kind === 'text' ? part.text : '')).join('');
}

/** Usage of the attempts since an earlier state of the same session. */
export function usageSince(state: FoldState, before: FoldState): Usage {
  const known = toArray(before.usage).length;
  const since = toArray(state.usage).slice(known);
  return totalUsage({ ...state, usage: { before: undefined, chunk: since } });
}
