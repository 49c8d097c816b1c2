import {
  type AgentEvent,
  agentEvents,
  type Batch,
  type ErrorInfo,
  Folder,
  type FoldState,
  type Item,
  isMillraceError,
  type JsonValue,
  noUsage,
  type Part,
  type SessionId,
  type Stop,
  type ToolCallId,
  type ToolResultPart,
  toArray,
  totalUsage,
  transcript,
  usageByAgent,
  type View,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BlockedBy, FinishedResult, RunResult } from '../contract/run.ts';
import type { PendingApproval, PendingToolCall, ToolCall } from '../contract/typed-tools.ts';
import { LiveValues } from './live-values.ts';

/** Where the views of a run read its records. */
export interface RunEventSource {
  readonly log: Log;
  /** The session state before the run. Rejects if the run could not start. */
  readonly initialState: Promise<FoldState>;
  /** The calls that were answered before the run, in commands that it had not read then. */
  readonly answered: () => readonly string[];
  /** Aborts when the run has ended. */
  readonly ended: AbortSignal;
  /** The offset of the run's last record so far. */
  readonly through: () => number;
  /** Aborts when the reader leaves. */
  readonly left?: AbortSignal | undefined;
}

/** The events of a run from its first record on, for one reader. */
export function runEvents(source: RunEventSource): AsyncGenerator<AgentEvent> {
  const live = new LiveValues();
  return runView(source, (before, record, after) => {
    const events: AgentEvent[] = [];
    for (const event of agentEvents(before, record, after)) live.add(event, events);
    return events;
  });
}

/**
 * A view of a run from its first record on, for one reader. The reader may start late and read
 * slowly. `prepare` can change the records of a batch before they are folded.
 */
export async function* runView<Event>(
  { log, initialState, ended, through, left }: Omit<RunEventSource, 'answered'>,
  view: View<Event>,
  prepare: (batch: Batch) => Batch = (batch) => batch,
): AsyncGenerator<Event> {
  const before = await initialState.catch(() => undefined);
  if (before === undefined) return;
  const { session, through: from } = before;
  const folder = new Folder(before);
  const own = (batch: Batch) => prepare(ended.aborted ? cutBatch(batch, through()) : batch);
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
export interface RunOutcome {
  /** The validated answer. */
  readonly value: unknown;
  /** The last error of the run. */
  readonly error: ErrorInfo | undefined;
  /** The value that user code threw. */
  readonly cause: unknown;
  /** The guardrail that stopped the run. */
  readonly blockedBy?: BlockedBy | undefined;
}

/** Creates the result from the session states before and after the run. */
export function createRunResult(
  before: FoldState,
  after: FoldState,
  stop: Stop,
  input: readonly Item[],
  { value: answered, error, cause, blockedBy }: RunOutcome,
): RunResult {
  const known = new Set([...toArray(before.items), ...input].map(({ id }) => id));
  const all = transcript(after);
  const items = all.filter(({ id }) => !known.has(id));
  const last = items.findLast(({ kind }) => kind === 'assistant');
  const since = attemptsSince(after, before);
  const fields = {
    session: after.session,
    stop,
    text: joinText(last?.parts ?? []),
    items,
    toolCalls: toolCallsOf(all, before, input),
    pendingApprovals: pendingApprovalsOf(after),
    pendingToolCalls: pendingToolCallsOf(after),
    ...{ usage: totalUsage(since), usageByAgent: usageByAgent(since) },
  };
  const { reason } = stop;
  if (reason === 'stop') {
    const finished = { ...fields, reason, ...(answered === undefined ? {} : { value: answered }) };
    return finished as FinishedResult;
  }
  if (reason === 'blocked') {
    const unknown = { name: stop.cause ?? 'unknown', on: 'output', reason: undefined } as const;
    return { ...fields, reason, guardrail: blockedBy ?? unknown };
  }
  if (reason !== 'error') return { ...fields, reason };
  const thrown = cause === undefined ? {} : { cause };
  return { ...fields, reason, error: error ?? errorOfStop(stop), ...thrown };
}

/** The error of a run whose log does not say more. */
function errorOfStop({ cause = 'unknown' }: Stop): ErrorInfo {
  return { code: cause, message: `The run ended with the error ${cause}` };
}

/** The calls that wait for an approval, with their inputs. */
export function pendingApprovalsOf(state: FoldState): readonly PendingApproval[] {
  if (state.asked.length === 0) return [];
  const inputs = inputsOf(transcript(state));
  return state.asked.map(({ toolCallId, name, reason, rule, from }) => ({
    ...{ toolCallId, name, input: from === undefined ? inputs.get(toolCallId) : from.input },
    ...(reason !== undefined && { reason }),
    ...(rule !== undefined && { rule }),
  }));
}

/** The calls that a client has to run, with their inputs. */
export function pendingToolCallsOf(state: FoldState): readonly PendingToolCall[] {
  if (state.awaited.length === 0) return [];
  const inputs = inputsOf(transcript(state));
  return state.awaited.map(({ toolCallId, name }) => {
    return { toolCallId, name, input: inputs.get(toolCallId) };
  });
}

/** The calls that got their result in this run. The call itself can be from an earlier, parked run. */
function toolCallsOf(
  items: readonly Item[],
  before: FoldState,
  input: readonly Item[],
): readonly ToolCall[] {
  const results = resultsOf(items.flatMap(({ parts }) => parts));
  if (results.length === 0) return [];
  const committed = toArray(before.items).flatMap(({ parts }) => parts.map(({ part }) => part));
  const earlier = resultsOf([...committed, ...input.flatMap(({ parts }) => parts)]);
  const known = new Set(earlier.map(({ toolCallId }) => toolCallId));
  const inputs = inputsOf(items);
  return results
    .filter(({ toolCallId }) => !known.has(toolCallId))
    .map(({ toolCallId, name, text, isError, value, metadata }) => ({
      ...{ ok: !isError, toolCallId, name, text },
      // Who approved the call may have changed its input.
      input: metadata?.['changedInput'] ?? inputs.get(toolCallId),
      ...(value !== undefined && { value }),
    }));
}

function resultsOf(parts: readonly (Part | undefined)[]): readonly ToolResultPart[] {
  return parts.flatMap((part) => (part?.kind === 'tool_result' && !part.partial ? part : []));
}

function inputsOf(items: readonly Item[]): ReadonlyMap<ToolCallId, JsonValue | undefined> {
  const calls = items.flatMap(({ parts }) => parts.filter((part) => part.kind === 'tool_call'));
  return new Map(calls.map(({ toolCallId, input }) => [toolCallId, input]));
}

/** The result if the log failed or another process has the lease. */
export function failedResult(session: SessionId, error: unknown): RunResult {
  const info = errorInfoOf(error);
  const reason = 'error';
  const stop = { reason, cause: info.code } as const;
  const nothing = {
    text: '',
    items: [],
    toolCalls: [],
    pendingApprovals: [],
    pendingToolCalls: [],
  };
  const counts = { usage: noUsage, usageByAgent: [] };
  return { session, reason, stop, ...nothing, ...counts, error: info, cause: error };
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

/** The usage of the attempts since an earlier state of the same session. */
export function attemptsSince(state: FoldState, before: FoldState): Pick<FoldState, 'usage'> {
  const known = toArray(before.usage).length;
  const since = toArray(state.usage).slice(known);
  return { usage: { before: undefined, chunk: since } };
}
