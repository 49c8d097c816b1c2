import {
  type AgentEvent,
  type AskedApproval,
  agentEvents,
  type Batch,
  type ErrorInfo,
  entriesSince,
  Folder,
  type FoldState,
  findLast,
  type Item,
  type ItemState,
  isMillraceError,
  type JsonValue,
  noUsage,
  type Part,
  type PartSlot,
  type SessionId,
  type Stop,
  type ToolCallId,
  type ToolResultPart,
  toItem,
  totalUsage,
  usageByAgent,
  type View,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BlockedBy, FinishedResult, RunResult } from '../contract/run.ts';
import type { PendingApproval, PendingToolCall, ToolCall } from '../contract/typed-tools.ts';

/** The log, and the values on which the views of a run depend. */
export interface RunEventSource {
  readonly log: Log;
  /**
   * Resolves when `begins` has its value, with the state that the session had when it was opened. Rejects, or
   * resolves with undefined, if the run could not start.
   */
  readonly initialState: Promise<FoldState | undefined>;
  /**
   * Returns the offset after which the run's own records begin. Returns undefined while `agent.run` still
   * ends an earlier run that was interrupted. Default: the offset of `initialState`.
   */
  readonly begins?: (() => number | undefined) | undefined;
  /** Returns the ids of the calls whose answers were queued as commands before the run started. */
  readonly answered: () => readonly string[];
  /** Aborts when the run has ended. */
  readonly ended: AbortSignal;
  /** Returns the offset of the last record that the run has written until now. */
  readonly through: () => number;
  /**
   * Returns false if no agent of the run has an `output` schema. It is called after `initialState` has
   * resolved. Default: true.
   */
  readonly hasOutput?: (() => boolean) | undefined;
  /** Returns true if the run ends when it has to wait for an approval. Default: false. */
  readonly parks?: (() => boolean) | undefined;
  /** Aborts when the reader stops reading. */
  readonly left?: AbortSignal | undefined;
}

/**
 * Returns the events of a run for one reader, starting with the run's first record. If the call of
 * `agent.run` first ends an earlier run, the events start with the questions of that run. Otherwise no client
 * could answer them.
 */
export function runEvents(source: RunEventSource): AsyncGenerator<AgentEvent> {
  return runView(source, async ({ through }) => {
    const view = await eventView(source);
    if (source.begins === undefined || source.begins() === through) return view;
    const { withoutEarlierRun } = await import('./earlier-run.ts');
    return withoutEarlierRun(source, view);
  });
}

/**
 * Returns the view that converts records to events. Only agents with an `output` schema stream values, so the
 * code for values loads on demand.
 */
async function eventView({ hasOutput }: RunEventSource): Promise<View<AgentEvent>> {
  if (hasOutput?.() === false) return agentEvents;
  return (await import('./live-values.ts')).liveEvents();
}

/**
 * Returns the events of a view for one reader, starting at the initial state. The reader may start late and
 * read slowly. `createView` gets the initial state. `prepare` can change the records of a batch before they
 * are folded into the state.
 */
export async function* runView<Event>(
  { log, initialState, ended, through, left }: Omit<RunEventSource, 'answered'>,
  createView: (initial: FoldState) => View<Event> | Promise<View<Event>>,
  prepare: (batch: Batch) => Batch = (batch) => batch,
): AsyncGenerator<Event> {
  const before = await initialState.catch(() => undefined);
  if (before === undefined) return;
  const view = await createView(before);
  const { session, through: from } = before;
  const folder = new Folder(before);
  const own = (batch: Batch) => prepare(ended.aborted ? cutBatch(batch, through()) : batch);
  const signal = left === undefined ? ended : AbortSignal.any([ended, left]);
  for await (const batch of log.follow(session, { from, signal })) {
    for (const event of eventsOf(folder, own(batch), view)) yield event;
    if (ended.aborted && folder.state.through >= through()) return;
  }
  if (left?.aborted) return;
  // The run ended before this reader had read all records. The remaining records are on the log.
  while (folder.state.through < through()) {
    const batch = await log.read(session, { from: folder.state.through });
    if (batch.through <= folder.state.through) return;
    for (const event of eventsOf(folder, own(batch), view)) yield event;
  }
}

/** Returns the batch without the records of later runs. */
function cutBatch({ after, through, records }: Batch, last: number): Batch {
  if (through <= last) return { after, through, records };
  return { after, through: last, records: records.filter(({ offset }) => offset <= last) };
}

function eventsOf<Event>(folder: Folder, batch: Batch, view: View<Event>): readonly Event[] {
  const events: Event[] = [];
  folder.addBatch(batch, (old, record, state) => events.push(...view(old, record, state)));
  return events;
}

/** The fields of a result that the session state does not contain. */
export interface RunOutcome {
  /** The validated value of the answer. */
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
  // Only the entries that changed are read, so the cost does not grow with the length of the session.
  const earlier = entriesSince(before.items, after.items);
  const known = new Set([...earlier, ...input].map(({ id }) => id));
  const changed = entriesSince(after.items, before.items);
  const items = changed.filter(({ id }) => !known.has(id)).map(toItem);
  const last = items.findLast(({ kind }) => kind === 'assistant');
  const since = attemptsSince(after, before);
  const fields = {
    session: after.session,
    stop,
    text: joinText(last?.parts ?? []),
    items,
    toolCalls: toolCallsOf(changed, earlier, input, after),
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

/** Returns the error of a run for which the log has no error record. */
function errorOfStop({ cause = 'unknown' }: Stop): ErrorInfo {
  return { code: cause, message: `The run ended with the error ${cause}` };
}

/** Returns the calls that wait for an approval, with their inputs. */
export function pendingApprovalsOf(state: FoldState): readonly PendingApproval[] {
  return state.asked.map((asked) => {
    const { toolCallId, name, reason, rule, from } = asked;
    return {
      ...{ toolCallId, name, input: from === undefined ? askedInput(state, asked) : from.input },
      ...(reason !== undefined && { reason }),
      ...(rule !== undefined && { rule }),
    };
  });
}

/**
 * Returns the input of a call that waits for approval. Only the items of the attempt that asked are searched,
 * because other items may contain a call with the same id.
 */
function askedInput(
  state: FoldState,
  { toolCallId, turn, attempt }: AskedApproval,
): JsonValue | undefined {
  return inputOf(state, toolCallId, (item) => item.turn === turn && item.attempt === attempt);
}

/** Returns the calls that a client has to run, with their inputs. */
export function pendingToolCallsOf(state: FoldState): readonly PendingToolCall[] {
  return state.awaited.map(({ toolCallId, name, input }) => {
    return { toolCallId, name, input: input ?? inputOf(state, toolCallId) };
  });
}

/**
 * Returns the calls that got their result in this run. An earlier, parked run may have made the call itself.
 */
function toolCallsOf(
  changed: readonly ItemState[],
  earlier: readonly ItemState[],
  input: readonly Item[],
  after: FoldState,
): readonly ToolCall[] {
  const results = resultsOf(partsOf(changed));
  if (results.length === 0) return [];
  const before = resultsOf([...partsOf(earlier), ...input.flatMap(({ parts }) => parts)]);
  const known = new Set(before.map(({ toolCallId }) => toolCallId));
  return results
    .filter(({ toolCallId }) => !known.has(toolCallId))
    .map(({ toolCallId, name, text, isError, value, metadata }) => ({
      ...{ ok: !isError, toolCallId, name, text },
      // The person who approved the call may have changed its input.
      input: metadata?.['changedInput'] ?? inputOf(after, toolCallId),
      ...(value !== undefined && { value }),
    }));
}

function partsOf(items: readonly ItemState[]): readonly (Part | undefined)[] {
  return items.flatMap(({ parts }) => parts.map(({ part }) => part));
}

/**
 * Returns the input of a call from one of the items that `isIn` accepts. The search starts with the newest
 * item.
 */
function inputOf(
  state: FoldState,
  id: ToolCallId,
  isIn: (item: ItemState) => boolean = () => true,
): JsonValue | undefined {
  const isCall = ({ part }: PartSlot) => part?.kind === 'tool_call' && part.toolCallId === id;
  const item = findLast(state.items, (one) => isIn(one) && one.parts.some(isCall));
  const part = item?.parts.findLast(isCall)?.part;
  return part?.kind === 'tool_call' ? part.input : undefined;
}

function resultsOf(parts: readonly (Part | undefined)[]): readonly ToolResultPart[] {
  return parts.flatMap((part) => (part?.kind === 'tool_result' && !part.partial ? part : []));
}

/** Returns the result of a run whose log failed, or whose session is driven by a different process. */
export function failedResult(session: SessionId, error: unknown): RunResult {
  const info = errorInfoOf(session, error);
  const reason = 'error';
  const stop = { reason, cause: info.code } as const;
  const nothing = {
    ...{ text: '', items: [], toolCalls: [] },
    ...{ pendingApprovals: [], pendingToolCalls: [] },
  };
  const counts = { usage: noUsage, usageByAgent: [] };
  return { session, reason, stop, ...nothing, ...counts, error: info, cause: error };
}

/**
 * Returns the code and message of an error. The messages of unknown errors may be private. Only `cause`
 * contains them, and only in this process.
 */
function errorInfoOf(session: SessionId, error: unknown): ErrorInfo {
  if (isMillraceError(error)) {
    const { code, place } = error;
    if (code !== 'held') return { code, message: error.message };
    // The log's own message advises a takeover, but a run has no such option.
    const message = `Cannot continue session ${session}: ${place['holder']} drives it. Wait for its end, or send the message to the run with submitCommand`;
    return { code, message };
  }
  return {
    code: 'unknown',
    message: 'Cannot continue: an unexpected error was thrown. See the cause of the result',
  };
}

/** Joins the text parts. */
export function joinText(parts: readonly (Part | undefined)[]): string {
  return parts.map((part) => (part?.kind === 'text' ? part.text : '')).join('');
}

/** Returns the usage of the attempts that were made after an earlier state of the same session. */
export function attemptsSince(state: FoldState, before: FoldState): Pick<FoldState, 'usage'> {
  const known = new Set(entriesSince(before.usage, state.usage));
  const since = entriesSince(state.usage, before.usage).filter((one) => !known.has(one));
  return { usage: { before: undefined, chunk: since } };
}
