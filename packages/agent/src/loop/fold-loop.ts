import type { Fact, LogRecord, Stop, ToolCallId } from '@millrace/core';
import { commandOf } from './command.ts';
import { type CallState, type LoopState, noCall, type TurnState } from './loop-state.ts';

/** The state with one more record. */
export function foldLoop(state: LoopState, { turn, attempt, fact }: LogRecord): LoopState {
  if (fact === undefined) return state;
  switch (fact.type) {
    case 'run_started':
      return { ...state, run: { id: fact.runId, turns: 0, finishedTurns: 0, aborted: undefined } };
    case 'run_finished':
      return { ...state, run: undefined };
    case 'aborted':
      return { ...state, run: state.run && { ...state.run, aborted: { reason: fact.reason } } };
    case 'command_queued': {
      const command = commandOf(fact.command);
      if (command === undefined) return state;
      return { ...state, commands: [...state.commands, { key: fact.key, command }] };
    }
    case 'command_consumed':
      return { ...state, commands: state.commands.filter(({ key }) => key !== fact.key) };
    case 'item_started':
      if (turn === 0) return fact.kind === 'user' ? { ...state, hasInput: true } : state;
      return withItem(state, turn, attempt, fact);
    case 'compacted': {
      const covered = new Set([...state.compacted.covered, ...fact.itemIds]);
      return { ...state, compacted: { covered, summary: fact.summary }, lastTokens: 0 };
    }
    case 'response_finished': {
      const { input, output } = fact.usage;
      const isAside = state.turn?.isAside ?? false;
      const lastTokens = isAside ? state.lastTokens : input + output;
      return inTurn({ ...state, lastTokens }, turn, (open) => foldTurn(open, attempt, fact));
    }
    case 'turn_started':
      return startTurn(state, turn);
    case 'turn_finished':
      return state.turn?.turn === turn ? finishTurn(state, fact.stop) : state;
    default:
      return inTurn(state, turn, (open) => foldTurn(open, attempt, fact));
  }
}

function startTurn(state: LoopState, turn: number): LoopState {
  const { run } = state;
  const begun: TurnState = {
    turn,
    attempt: 0,
    isSuperseded: false,
    itemId: undefined,
    toolItemId: undefined,
    stop: undefined,
    calls: new Map(),
    isAside: false,
    hadInput: state.hasInput,
  };
  const counted = run && { ...run, turns: run.turns + 1 };
  return { ...state, run: counted, turn: begun, lastTurn: turn, hasInput: false };
}

function finishTurn(state: LoopState, lastStop: Stop): LoopState {
  const { run, turn } = state;
  if (turn?.isAside) return { ...state, turn: undefined };
  const counted = run && { ...run, finishedTurns: run.finishedTurns + 1 };
  return { ...state, run: counted, turn: undefined, lastStop };
}

function inTurn(state: LoopState, turn: number, change: (open: TurnState) => TurnState): LoopState {
  if (state.turn?.turn !== turn) return state;
  const changed = change(state.turn);
  return changed === state.turn ? state : { ...state, turn: changed };
}

function withItem(
  state: LoopState,
  number: number,
  attempt: number,
  { itemId, kind }: Extract<Fact, { type: 'item_started' }>,
): LoopState {
  const { turn } = state;
  if (turn?.turn !== number) return state;
  if (kind === 'tool') return { ...state, turn: { ...turn, toolItemId: itemId } };
  if (kind !== 'assistant' && kind !== 'context') return state;
  const isAside = kind === 'context';
  const fresh = { isSuperseded: false, toolItemId: undefined, calls: new Map() };
  const tried = { ...turn, ...fresh, attempt, itemId, isAside };
  // What nobody has answered yet is still to be answered.
  return { ...state, turn: tried, hasInput: isAside ? turn.hadInput : state.hasInput };
}

function foldTurn(turn: TurnState, attempt: number, fact: Fact): TurnState {
  switch (fact.type) {
    case 'attempt_superseded':
      return attempt === turn.attempt
        ? {
            ...turn,
            isSuperseded: true,
            itemId: undefined,
            toolItemId: undefined,
            calls: new Map(),
          }
        : turn;
    case 'response_finished':
      return fact.itemId === turn.itemId ? { ...turn, stop: fact.stop } : turn;
    case 'item_finished':
      return fact.itemId === turn.itemId && fact.stop ? { ...turn, stop: fact.stop } : turn;
    default:
      return 'toolCallId' in fact ? withCall(turn, fact.toolCallId, fact) : turn;
  }
}

function withCall(turn: TurnState, id: ToolCallId, fact: Fact): TurnState {
  const calls = new Map(turn.calls);
  calls.set(id, foldCall(calls.get(id) ?? noCall, fact));
  return { ...turn, calls };
}

function foldCall(call: CallState, fact: Fact): CallState {
  switch (fact.type) {
    case 'approval_asked':
      return { ...call, isAsked: true };
    case 'approval_answered': {
      const { decision, reason, input } = fact;
      return { ...call, answer: { decision, reason, input } };
    }
    case 'tool_call_rejected':
      return { ...call, isRejected: true };
    case 'tool_execution_started': {
      const { executionId: id, name } = fact;
      const execution = { id, name, isRunning: true, isLost: false };
      return { ...call, execution, executions: call.executions + 1 };
    }
    case 'tool_execution_finished': {
      const { execution } = call;
      if (execution?.id !== fact.executionId) return call;
      const isLost = fact.outcome === 'lost';
      return { ...call, execution: { ...execution, isRunning: false, isLost } };
    }
    default:
      return call;
  }
}
