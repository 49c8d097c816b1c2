import type { Stop, StopReason, ToolCallPart } from '@millrace/core';
import type { LoopState, TurnState } from '../contract/loop-state.ts';
import { activeCommands } from './commands.ts';
import { isOverflow } from './fold-loop.ts';

/** What there is to decide by: the session, folded, and what is allowed. */
export interface DecisionInput {
  readonly loop: LoopState;
  /** The calls of the turn's response that have no result yet, in order. */
  readonly unanswered: readonly ToolCallPart[];
  /** The response has calls, answered or not. */
  readonly hasCalls: boolean;
  /** The next request would be longer than it should be, and can be made shorter. */
  readonly isLong: boolean;
  /** Why the run may not go on, where it may not. */
  readonly limit: string | undefined;
}

export type Action =
  /** What was said for the next request becomes items: everything that steers, or what follows. */
  | { readonly do: 'take_messages'; readonly when: 'steer' | 'follow_up' }
  | { readonly do: 'start_turn'; readonly turn: number }
  /** What was said long ago is replaced by a summary, in what models are sent; by whose command. */
  | { readonly do: 'compact'; readonly turn: number; readonly keys: readonly string[] }
  | { readonly do: 'request'; readonly turn: TurnState }
  /** Each gets its result: by running, or by being rejected. */
  | { readonly do: 'answer'; readonly turn: TurnState; readonly calls: readonly ToolCallPart[] }
  /** Each gets a result that says why it did not run. */
  | {
      readonly do: 'reject';
      readonly turn: TurnState;
      readonly calls: readonly ToolCallPart[];
      readonly code: 'aborted' | 'cut';
    }
  | { readonly do: 'finish_turn'; readonly turn: TurnState; readonly stop: Stop }
  | { readonly do: 'finish_run'; readonly stop: Stop };

/** The heart: what comes next. It reads the session and does nothing. */
export function decide(situation: DecisionInput): Action {
  const { loop, unanswered: calls, hasCalls, limit, isLong } = situation;
  const { turn, run } = loop;
  if (turn === undefined) return betweenTurns(loop, limit, isLong);
  const { stop } = turn;
  if (run?.aborted !== undefined) {
    if (calls.length > 0) return { do: 'reject', turn, calls, code: 'aborted' };
    return { do: 'finish_turn', turn, stop: { ...stop, reason: 'aborted' } };
  }
  if (stop === undefined) return { do: 'request', turn };
  if (stop.reason === 'tool_use' && !hasCalls)
    return { do: 'finish_turn', turn, stop: { ...stop, reason: 'unknown', cause: 'no calls' } };
  if (calls.length === 0) return { do: 'finish_turn', turn, stop };
  if (stop.reason === 'tool_use') return { do: 'answer', turn, calls };
  return { do: 'reject', turn, calls, code: 'cut' };
}

function betweenTurns(loop: LoopState, limit: string | undefined, isLong: boolean): Action {
  const { hasInput, lastStop, lastTurn, run } = loop;
  const commands = activeCommands(loop.commands);
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
  // Whoever resumes after an error, with nothing new to say, wants it tried again.
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
/** After these the model is asked again: it waits for results, or was only pausing. */
const continuingReasons: ReadonlySet<StopReason> = new Set(['tool_use', 'pause']);
/** After these nothing that waits is begun: somebody has to look first. */
const endingReasons: ReadonlySet<StopReason> = new Set(['aborted', 'error', 'limit']);
