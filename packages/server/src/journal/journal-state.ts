import {
  type JsonObject,
  type LogRecord,
  type Stop,
  type StopReason,
  type TraceContext,
  traceContext,
} from '@millrace/core';

/** What a journal has to know of a session, besides its items. A fold of the log, like these. */
export interface JournalState {
  /** The number of the last turn there was. */
  readonly lastTurn: number;
  /** The one that was started and is not finished. */
  readonly turn: number | undefined;
  readonly lastRun: LastRun | undefined;
  /** Where somebody asked last for a stop. */
  readonly abortAt: number;
  /** Those that wait, in order. */
  readonly commands: readonly QueuedCommand[];
}

/** A run that is over. */
interface LastRun {
  readonly stop: Stop;
  /** What was said after this was not said to it: after its end, or after the word that stopped it. */
  readonly inputThrough: number;
}

export interface QueuedCommand {
  readonly key: string;
  readonly command: JsonObject;
  readonly offset: number;
  /** Milliseconds since 1970. */
  readonly time: number;
}

export const emptyJournalState: JournalState = {
  lastTurn: 0,
  turn: undefined,
  lastRun: undefined,
  abortAt: 0,
  commands: [],
};

export function foldJournal(state: JournalState, record: LogRecord): JournalState {
  const { fact, turn, offset, time } = record;
  switch (fact?.type) {
    case 'turn_started':
      return { ...state, turn, lastTurn: Math.max(state.lastTurn, turn) };
    case 'turn_finished':
      return state.turn === turn ? { ...state, turn: undefined } : state;
    case 'run_finished':
      return { ...state, lastRun: lastRunOf(state, fact.stop, offset) };
    case 'command_queued': {
      const { key, command } = fact;
      const commands = [...state.commands, { key, command, offset, time }];
      const abortAt = command['type'] === 'abort' ? offset : state.abortAt;
      return { ...state, commands, abortAt };
    }
    case 'command_consumed':
      return { ...state, commands: state.commands.filter(({ key }) => key !== fact.key) };
    default:
      return state;
  }
}

function lastRunOf({ abortAt, lastRun }: JournalState, stop: Stop, offset: number): LastRun {
  const isByAbort = stop.reason === 'aborted' && abortAt > (lastRun?.inputThrough ?? 0);
  return { stop, inputThrough: isByAbort ? abortAt : offset };
}

/** After these somebody has to say something before anything is begun. */
const haltingReasons: readonly StopReason[] = ['aborted', 'error', 'limit', 'parked'];

/** The commands that wait and that a run is to be begun for: after some ends, only what came later. */
export function runnableCommands({ commands, lastRun }: JournalState): readonly QueuedCommand[] {
  if (lastRun === undefined || !isHalted(lastRun.stop)) return commands;
  return commands.filter(({ offset }) => offset > lastRun.inputThrough);
}

/** That its process died was nobody's wish: what was said since is to be answered. */
function isHalted({ reason, cause }: Stop): boolean {
  return haltingReasons.includes(reason) && cause !== 'interrupted';
}

/** As it lies beside a command on the log, where whoever takes the command up finds it. */
export function traceJson(trace: TraceContext | undefined): { readonly trace?: JsonObject } {
  return trace === undefined ? {} : { trace: { ...trace } };
}

/** Of a command; none where it has none, or a bad one. */
export function traceIn(command: JsonObject): TraceContext | undefined {
  const { traceparent, tracestate } = (command['trace'] ?? {}) as JsonObject;
  return traceContext(traceparent, tracestate);
}
