import type { GuardrailPlace, Stop, StopReason, ToolCallPart } from '@millrace/core';
import type { LoopState, TurnState } from '../contract/loop-state.ts';
import { commandsOfRun } from './commands.ts';
import { isOverflow } from './fold-loop.ts';

/** All values on which the next action depends. */
export interface DecisionInput {
  readonly loop: LoopState;
  /** The calls of the response that have no result yet, in order. */
  readonly unanswered: readonly ToolCallPart[];
  /** True if the response has tool calls, whether they have results or not. */
  readonly hasCalls: boolean;
  /** True if the context is too long and can be compacted. */
  readonly isLong: boolean;
  /**
   * The content that guardrails must check before the run continues: the input, the output or the tool calls.
   */
  readonly guard: GuardrailPlace | undefined;
  /** The limit that the run has reached, if there is one. */
  readonly limit: string | undefined;
}

export type Action =
  /**
   * Turns queued messages into items. With `steer`, it takes all `steer` messages. With `follow_up`, it takes
   * only the first `follow_up` message.
   */
  | { readonly do: 'take_messages'; readonly when: 'steer' | 'follow_up' }
  | { readonly do: 'start_turn'; readonly turn: number }
  /**
   * Replaces old items in the context with a summary. `keys` contains the keys of the commands that requested
   * it.
   */
  | { readonly do: 'compact'; readonly turn: number; readonly keys: readonly string[] }
  /** Lets the guardrails check the input, the answer or the calls of the turn. */
  | {
      readonly do: 'guard';
      readonly on: GuardrailPlace;
      readonly turn: TurnState;
      readonly calls: readonly ToolCallPart[];
    }
  | { readonly do: 'request'; readonly turn: TurnState }
  /** Gives each call its result: runs the tool or rejects the call. */
  | { readonly do: 'answer'; readonly turn: TurnState; readonly calls: readonly ToolCallPart[] }
  /** Gives each call an error result that contains the reason why the call did not run. */
  | {
      readonly do: 'reject';
      readonly turn: TurnState;
      readonly calls: readonly ToolCallPart[];
      readonly code: 'aborted' | 'cut' | 'blocked';
    }
  | { readonly do: 'finish_turn'; readonly turn: TurnState; readonly stop: Stop }
  | { readonly do: 'finish_run'; readonly stop: Stop };

/** Decides the next action of a run. The result depends only on the state of the session. */
export function decide(situation: DecisionInput): Action {
  const { loop, unanswered: calls, hasCalls, limit, isLong, guard } = situation;
  const { turn, run } = loop;
  if (turn === undefined) return betweenTurns(loop, limit, isLong);
  const { stop, halt } = turn;
  // After an abort, the action `guard` retracts a complete answer that was not checked.
  if (run?.aborted !== undefined && guard !== 'output') {
    if (calls.length > 0) return { do: 'reject', turn, calls, code: 'aborted' };
    return { do: 'finish_turn', turn, stop: { ...stop, reason: 'aborted' } };
  }
  if (halt !== undefined) {
    if (calls.length > 0) return { do: 'reject', turn, calls, code: 'blocked' };
    const stopped: Stop = halt.isError ? guardrailFailed : { reason: 'blocked', cause: halt.by };
    return { do: 'finish_turn', turn, stop: stopped };
  }
  if (guard !== undefined) return { do: 'guard', on: guard, turn, calls };
  if (stop === undefined) return { do: 'request', turn };
  if (stop.reason === 'tool_use' && !hasCalls)
    return { do: 'finish_turn', turn, stop: { ...stop, reason: 'unknown', cause: 'no calls' } };
  if (calls.length === 0) return { do: 'finish_turn', turn, stop };
  if (stop.reason === 'tool_use') return { do: 'answer', turn, calls };
  return { do: 'reject', turn, calls, code: 'cut' };
}

function betweenTurns(loop: LoopState, limit: string | undefined, isLong: boolean): Action {
  const { hasInput, lastStop, lastTurn, run } = loop;
  const commands = commandsOfRun(loop);
  const isQueued = (when: 'steer' | 'follow_up') =>
    commands.some(({ command }) => command.type === 'message' && command.when === when);
  const isFirst = run?.finishedTurns === 0;
  if (run?.aborted !== undefined) return { do: 'finish_run', stop: { reason: 'aborted' } };
  const keys = commands.flatMap(({ key, command }) => (command.type === 'compact' ? key : []));
  if (keys.length > 0) return { do: 'compact', turn: lastTurn + 1, keys };
  const mayCompact = isLong && limit === undefined && !isFirst;
  if (mayCompact && isOverflow(lastStop)) return { do: 'compact', turn: lastTurn + 1, keys };
  if (!isFirst && lastStop !== undefined && endingReasons.has(lastStop.reason))
    return { do: 'finish_run', stop: lastStop };
  // If a run is resumed after an error and there is no new input, the failed request is tried again.
  const isTriedAgain = isFirst && lastStop?.reason === 'error' && !isQueued('follow_up');
  const goesOn = hasInput || (lastStop && continuingReasons.has(lastStop.reason)) || isTriedAgain;
  if (isQueued('steer')) return { do: 'take_messages', when: 'steer' };
  if (!goesOn && isQueued('follow_up')) return { do: 'take_messages', when: 'follow_up' };
  if (!goesOn)
    return { do: 'finish_run', stop: isFirst ? { reason: 'stop' } : (lastStop ?? stopped) };
  if (limit !== undefined) return { do: 'finish_run', stop: { reason: 'limit', cause: limit } };
  if (isLong) return { do: 'compact', turn: lastTurn + 1, keys };
  return { do: 'start_turn', turn: lastTurn + 1 };
}

const stopped: Stop = { reason: 'stop' };
const guardrailFailed: Stop = { reason: 'error', cause: 'guardrail_failed' };
/**
 * The stop reasons after which the model is called again. The model waits for tool results, or it only
 * paused.
 */
const continuingReasons: ReadonlySet<StopReason> = new Set(['tool_use', 'pause']);
/** The stop reasons after which queued messages wait for the next run. */
const endingReasons: ReadonlySet<StopReason> = new Set(['aborted', 'error', 'limit', 'blocked']);
