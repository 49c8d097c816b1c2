import {
  type JsonObject,
  type LogRecord,
  type RunId,
  type Stop,
  type StopReason,
  type TraceContext,
  traceContext,
} from '@millrace/core';

/** The part of a journal's state that is not in the items of the session. It is computed from the log. */
export interface JournalState {
  /** Number of the last turn. */
  readonly lastTurn: number;
  /** The number of the active turn. Undefined if no turn is active. */
  readonly turn: number | undefined;
  /** The id of the run that started last. This run may have finished. */
  readonly runId: RunId | undefined;
  readonly lastRun: LastRun | undefined;
  /** The offset of the last abort command. */
  readonly abortAt: number;
  /** Queued commands, in order. */
  readonly commands: readonly QueuedCommand[];
  /**
   * The last decisions about tool calls, oldest first. The list has a maximum length, so long sessions need
   * no more memory.
   */
  readonly decisions: readonly CallDecision[];
  /** The calls of the open turn whose output a client sends. */
  readonly clientCalls: readonly string[];
}

/** The decision about a tool call. */
export interface CallDecision {
  readonly toolCallId: string;
  /** The decision. `ended` means that the call ended before anyone decided. */
  readonly decision: 'allow' | 'deny' | 'ended';
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  /** The offset of the record with the decision. */
  readonly offset: number;
  /** The key of the command. It is set while the command is queued and undefined after it was consumed. */
  readonly key?: string | undefined;
}

const maxDecisions = 256;

/** The last finished run. */
interface LastRun {
  readonly stop: Stop;
  /**
   * The offset up to which the run could read commands. Later commands came after the end of the run, or
   * after the command that aborted it.
   */
  readonly inputThrough: number;
}

export interface QueuedCommand {
  readonly key: string;
  readonly command: JsonObject;
  readonly offset: number;
  /** The time at which the command was queued, in milliseconds since 1970. */
  readonly time: number;
}

export const emptyJournalState: JournalState = {
  lastTurn: 0,
  turn: undefined,
  runId: undefined,
  lastRun: undefined,
  abortAt: 0,
  commands: [],
  decisions: [],
  clientCalls: [],
};

export function foldJournal(state: JournalState, record: LogRecord): JournalState {
  const { fact, turn, offset, time } = record;
  switch (fact?.type) {
    case 'turn_started':
      return { ...state, turn, lastTurn: Math.max(state.lastTurn, turn) };
    case 'turn_finished':
      return state.turn === turn ? { ...state, turn: undefined, clientCalls: [] } : state;
    case 'run_started':
      return { ...state, runId: fact.runId };
    case 'run_finished':
      return { ...state, lastRun: lastRunOf(state, fact.stop, offset) };
    case 'command_queued': {
      const { key, command } = fact;
      const commands = [...state.commands, { key, command, offset, time }];
      const abortAt = command['type'] === 'abort' ? offset : state.abortAt;
      const submitted = submittedDecision(key, command, offset);
      return withDecision({ ...state, commands, abortAt }, submitted);
    }
    case 'approval_answered': {
      const { toolCallId, decision, by, reason } = fact;
      return withDecision(state, { toolCallId, decision, by, reason, offset });
    }
    case 'tool_output_asked':
      return { ...state, clientCalls: [...state.clientCalls, fact.toolCallId] };
    case 'tool_call_rejected':
      return withDecision(state, { toolCallId: fact.toolCallId, decision: 'ended', offset });
    case 'command_consumed':
      return { ...state, commands: state.commands.filter(({ key }) => key !== fact.key) };
    default:
      return state;
  }
}

function withDecision(state: JournalState, made: CallDecision | undefined): JournalState {
  if (made === undefined) return state;
  return { ...state, decisions: [...state.decisions, made].slice(-maxDecisions) };
}

function submittedDecision(
  key: string,
  command: JsonObject,
  offset: number,
): CallDecision | undefined {
  const { type, toolCallId, by, reason } = command;
  if ((type !== 'approve' && type !== 'deny') || typeof toolCallId !== 'string') return undefined;
  return {
    ...{ toolCallId, key, offset, decision: type === 'approve' ? 'allow' : 'deny' },
    ...{ by: textOf(by), reason: textOf(reason) },
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * Returns the decision about a call. The decision is an answer on the log, a queued command, or `ended` for a
 * call without an answer. Returns undefined if the log contains none of these.
 */
export function decisionOn(
  { decisions, commands }: Pick<JournalState, 'decisions' | 'commands'>,
  toolCallId: string,
): CallDecision | undefined {
  const made = decisions.filter((one) => one.toolCallId === toolCallId);
  const isWaiting = ({ key }: CallDecision) => commands.some((queued) => queued.key === key);
  return (
    made.findLast(({ key, decision }) => key === undefined && decision !== 'ended') ??
    made.find(isWaiting) ??
    made.findLast(({ key }) => key === undefined)
  );
}

function lastRunOf({ abortAt, lastRun }: JournalState, stop: Stop, offset: number): LastRun {
  const isByAbort = stop.reason === 'aborted' && abortAt > (lastRun?.inputThrough ?? 0);
  return { stop, inputThrough: isByAbort ? abortAt : offset };
}

/** Stop reasons after which only a new command starts the next run. */
const haltingReasons: readonly StopReason[] = ['aborted', 'error', 'limit', 'parked'];

/**
 * Returns the queued commands for which a run must be started. After a run that was aborted, failed, reached
 * a limit or parked, it returns only newer commands. It also returns aborts, decisions and outputs that arrived
 * while the run parked.
 */
export function runnableCommands(state: JournalState): readonly QueuedCommand[] {
  const { commands, lastRun } = state;
  if (lastRun === undefined || !isHalted(lastRun.stop)) return commands;
  const isParked = lastRun.stop.reason === 'parked';
  return commands.filter(
    ({ offset, command }) =>
      offset > lastRun.inputThrough || (isParked && endsWait(command, state.clientCalls)),
  );
}

/** Returns whether a parked session must continue because of the command. */
function endsWait({ type, toolCallId }: JsonObject, clientCalls: readonly string[]): boolean {
  if (type === 'tool_output') return clientCalls.some((id) => id === toolCallId);
  return type === 'abort' || type === 'approve' || type === 'deny';
}

/**
 * Returns whether only a new command can start the next run after this stop. After a crash of the process,
 * older commands are also handled, so it returns false.
 */
function isHalted({ reason, cause }: Stop): boolean {
  return haltingReasons.includes(reason) && cause !== 'interrupted';
}

/** Returns the field that stores the trace of a command on the log. */
export function traceJson(trace: TraceContext | undefined): { readonly trace?: JsonObject } {
  return trace === undefined ? {} : { trace: { ...trace } };
}

/** Reads the trace of a command. Returns undefined if the trace is missing or invalid. */
export function traceIn(command: JsonObject): TraceContext | undefined {
  const { traceparent, tracestate } = (command['trace'] ?? {}) as JsonObject;
  return traceContext(traceparent, tracestate);
}
