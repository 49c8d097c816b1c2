import {
  attemptOf,
  type DraftRecord,
  type FoldState,
  findItem,
  noUsage,
  type OpenPart,
  type PartId,
  type RetractReason,
  toArray,
} from '@millrace/core';
import type { QueuedCommand } from '../contract/command.ts';
import type { LoopState, TurnState } from '../contract/loop-state.ts';
import type { Journal } from '../contract/run-context.ts';
import type { Settings } from '../contract/settings.ts';
import { abortDrafts, commandConsumed, responseFinished } from '../state/drafts.ts';

/** How a response ends whose process died. */
export const interruptedStop = { reason: 'aborted', cause: 'interrupted' } as const;

/**
 * What a driver writes that finds a session as a dead one left it. Afterwards nothing is open that
 * nobody works on: a response that was cut off is kept as partial or superseded, an execution of
 * which nobody knows what became is `lost`. Calls, approvals and commands that wait, wait on.
 */
export function recoveryDrafts(
  state: FoldState,
  { turn }: LoopState,
  onInterrupted: Settings['onInterrupted'],
): readonly DraftRecord[] {
  const lost = turn === undefined ? [] : lostExecutions(turn);
  // Results that did not come yet are still to come, in their places.
  if (turn === undefined || !isInterrupted(turn)) return lost;
  if (onInterrupted === 'retry') {
    const fact = { type: 'attempt_superseded', reason: 'interrupted' } as const;
    return [...lost, { turn: turn.turn, attempt: turn.attempt, fact }];
  }
  return [
    ...lost,
    ...closeOpenParts(state, 'interrupted'),
    ...retractResults(state, turn),
    ...finishOpenItems(state),
  ];
}

/** Its response has begun and not ended. */
export function isInterrupted({ stop, itemId }: TurnState): boolean {
  return stop === undefined && itemId !== undefined;
}

/** Text stays as far as it came. Half a call is nothing, and a result that did not come is no result. */
export function closeOpenParts({ open }: FoldState, why: RetractReason): readonly DraftRecord[] {
  return open.map((part) => closePart(part, why));
}

function closePart({ id, begin, text }: OpenPart, why: RetractReason): DraftRecord {
  if (begin.kind !== 'text' && begin.kind !== 'reasoning') return retractPart(id, why);
  const length = { length: text.length, partial: true } as const;
  return { ...attemptOf(id), delta: { type: 'commit_part', partId: id, ...length } };
}

/** What ran while the model spoke does not count when it did not come to an end. */
function retractResults(state: FoldState, { toolItemId }: TurnState): readonly DraftRecord[] {
  const item = toolItemId && findItem(state, toolItemId);
  const parts = item ? item.parts.filter(({ part }) => part !== undefined) : [];
  return parts.map(({ id }) => retractPart(id, 'interrupted'));
}

function retractPart(partId: PartId, reason: RetractReason): DraftRecord {
  return { ...attemptOf(partId), delta: { type: 'retract_part', partId, reason } };
}

/** The tool item is finished by whoever answers the calls. */
function finishOpenItems({ items }: FoldState): readonly DraftRecord[] {
  return toArray(items)
    .filter(({ finished, kind }) => finished === undefined && kind !== 'tool')
    .map(({ id: itemId, turn, attempt }) => ({
      ...{ turn, attempt },
      fact: { type: 'item_finished', itemId, stop: interruptedStop },
    }));
}

export function lostExecutions({ turn, attempt, calls }: TurnState): readonly DraftRecord[] {
  return [...calls].flatMap(([toolCallId, { execution }]): readonly DraftRecord[] => {
    if (!execution?.isRunning) return [];
    const { id: executionId, name } = execution;
    const about = { toolCallId, name, executionId, isError: true } as const;
    return [
      { turn, attempt, fact: { type: 'tool_execution_finished', ...about, outcome: 'lost' } },
    ];
  });
}

/** Aborts that nobody heard: the run that they meant, where it is still there, ends by the first. */
export function staleAbortDrafts(
  { run, turn }: LoopState,
  [first, ...rest]: readonly QueuedCommand[],
): readonly DraftRecord[] {
  if (first === undefined) return [];
  const isOver = run === undefined || run.aborted !== undefined;
  const aborts = isOver ? [commandConsumed(first.key)] : abortDrafts(first, turn?.turn ?? 0);
  return [...aborts, ...rest.map(({ key }) => commandConsumed(key))];
}

/** How a turn ends in which somebody else's code threw: the instructions, a filter, a provider. */
export const failedStop = { reason: 'error', cause: 'failed' } as const;

/** What is written then. What was said stays; a turn that has no response yet ends here. */
export function failureDrafts({ loop, state }: Journal): readonly DraftRecord[] {
  const { turn } = loop;
  const error = { code: 'failed', message: 'Cannot go on: what the request is made of failed' };
  const reported = { type: 'error_reported', error } as const;
  if (turn === undefined) return [{ turn: 0, attempt: 0, fact: reported }];
  const at = { turn: turn.turn, attempt: turn.attempt };
  const usage = { ...noUsage, estimated: true };
  const end: DraftRecord =
    turn.itemId === undefined
      ? { turn: turn.turn, attempt: 0, fact: { type: 'turn_finished', stop: failedStop } }
      : responseFinished(at, turn.itemId, failedStop, usage);
  return [{ ...at, fact: reported }, ...closeOpenParts(state, 'failed'), end];
}
