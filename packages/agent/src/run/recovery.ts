import {
  type DraftRecord,
  type ErrorInfo,
  type Fact,
  type FoldState,
  findItem,
  noUsage,
  ownChild,
  type SessionId,
  type ToolCallId,
  toArray,
} from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';
import type { QueuedCommand } from '../contract/command.ts';
import type { LoopState, TurnState } from '../contract/loop-state.ts';
import type { Journal, RunContext } from '../contract/run-context.ts';
import type { Settings } from '../contract/settings.ts';
import { commandsOfRun } from '../state/commands.ts';
import {
  abortDrafts,
  closeOpenParts,
  commandConsumed,
  interruptedStop,
  responseFinished,
  retractPart,
} from '../state/drafts.ts';
import { changedSuffix } from '../state/turn-calls.ts';

/**
 * Returns the records that a driver writes first when it opens a session after a crash. An interrupted
 * response is kept as partial, or marked as superseded. Running executions become `lost`. Unanswered calls,
 * approvals and commands stay unchanged.
 */
export function recoveryDrafts(
  state: FoldState,
  { turn }: LoopState,
  onInterrupted: Settings['onInterrupted'],
  owner: SessionId = state.session,
): readonly DraftRecord[] {
  const lost = turn === undefined ? [] : lostExecutions(turn, owner);
  // No response was interrupted. Calls without a result keep their reserved parts, because their results will
  // still arrive.
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

/** Returns true if the response has started but not ended. */
export function isInterrupted({ stop, itemId }: TurnState): boolean {
  return stop === undefined && itemId !== undefined;
}

/**
 * Returns the records that retract the results of tools that started early. If the response did not end,
 * these results are not valid.
 */
function retractResults(state: FoldState, { toolItemId }: TurnState): readonly DraftRecord[] {
  const item = toolItemId && findItem(state, toolItemId);
  const parts = item ? item.parts.filter(({ part }) => part !== undefined) : [];
  return parts.map(({ id }) => retractPart(id, 'interrupted'));
}

/**
 * Returns the records that finish open items. The tool item is not included, because the call runner finishes
 * it after all calls have results.
 */
function finishOpenItems({ items }: FoldState): readonly DraftRecord[] {
  return toArray(items)
    .filter(({ finished, kind }) => finished === undefined && kind !== 'tool')
    .map(({ id: itemId, turn, attempt }) => ({
      ...{ turn, attempt },
      fact: { type: 'item_finished', itemId, stop: interruptedStop },
    }));
}

/**
 * Returns the records that mark executions as lost: those whose process died, and those whose sub-agent belongs
 * to another session than `owner`, because this session is a copy. This session cannot continue such a sub-agent. It runs the
 * call again with a sub-agent of its own, which asks its own questions. `only` selects one call. Default: all calls.
 */
export function lostExecutions(
  { turn, attempt, calls }: TurnState,
  owner: SessionId,
  only?: ToolCallId,
): readonly DraftRecord[] {
  const at = { turn, attempt };
  return [...calls].flatMap(([toolCallId, { execution }]): readonly DraftRecord[] => {
    if (execution === undefined || (only !== undefined && only !== toolCallId)) return [];
    const { id: executionId, name, child, isRunning, isParked, isLost } = execution;
    const isCopied = child !== undefined && ownChild(execution, owner) === undefined;
    const closed = isCopied && (isRunning || isParked || isLost) ? closings(calls, toolCallId) : [];
    const answers = closed.map((fact) => ({ ...at, fact }));
    if (!isRunning && !(isCopied && isParked)) return answers;
    const about = { toolCallId, name, executionId, isError: true } as const;
    const lost = { type: 'tool_execution_finished', ...about, outcome: 'lost' } as const;
    return [...answers, { ...at, fact: lost }];
  });
}

/** Returns the facts that close the open questions of the sub-agent that a call runs. */
function closings(calls: TurnState['calls'], of: ToolCallId): readonly Fact[] {
  return [...calls].flatMap(([toolCallId, { question, answer }]): readonly Fact[] => {
    if (question?.of !== of || toolCallId === `${of}${changedSuffix}` || answer) return [];
    const { name } = question;
    return [
      { type: 'approval_answered', toolCallId, name, decision: 'deny', reason: copiedQuestion },
    ];
  });
}

const copiedQuestion =
  'The sub-agent that asks belongs to the original session. This copy runs the call again';

/**
 * Returns the records for the aborts that are queued when a driver starts a run. They are stale, because
 * they were meant for earlier work. The first abort ends the open run. If the last run parked, its turn is
 * still open, so `newRun` starts a run that ends the turn. If no work is open, the aborts have no effect.
 */
export function staleAbortDrafts(
  { run, turn }: LoopState,
  [first, ...rest]: readonly QueuedCommand[],
  newRun: () => DraftRecord,
): readonly DraftRecord[] {
  if (first === undefined) return [];
  const isParked = run === undefined && turn !== undefined;
  const isOpen = run !== undefined && run.aborted === undefined;
  const aborts =
    isParked || isOpen ? abortDrafts(first, turn?.turn ?? 0) : [commandConsumed(first.key)];
  const started = isParked ? [newRun()] : [];
  return [...started, ...aborts, ...rest.map(({ key }) => commandConsumed(key))];
}

/** The stop of a turn in which user code threw, for example the instructions, a filter or a provider. */
export const failedStop = { reason: 'error', cause: 'failed' } as const;

/**
 * Returns the records that end a turn in which user code threw. They keep the partial answer. `known` is the error if
 * its message may be on the log. Default: a message without the text of the error.
 */
export function failureDrafts(
  { loop, state }: Journal,
  known: ErrorInfo = {
    code: 'failed',
    message: 'Cannot continue: building the request or streaming the response failed',
  },
): readonly DraftRecord[] {
  const { turn } = loop;
  const error = { code: known.code, message: known.message };
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

/**
 * Takes the queued messages, one at a time, and then throws the error. A command that stays in the queue would start
 * the next run, which would fail too.
 */
export async function failAtStart(
  { journal, phase }: RunContext,
  { error }: { readonly error: unknown },
  takeMessages: (when: 'steer' | 'follow_up') => Promise<void>,
): Promise<undefined> {
  const waiting = commandsOfRun(journal.loop).flatMap(({ key, command }) =>
    command.type === 'message' || command.type === 'compact' ? [{ key, command }] : [],
  );
  const [first] = waiting;
  if (first === undefined || phase.isAborting) throw error;
  if (first.command.type === 'message') await takeMessages(first.command.when);
  else await journal.write([commandConsumed(first.key)]);
}

/**
 * Returns the error of a run whose storage is full. The message states which records are stored and how to
 * continue. The log's own error is only the `cause`, because its message contains a file path.
 */
export function storageFull(session: SessionId, through: number, cause: unknown): AgentError {
  const stored = through === 0 ? 'Nothing of it is' : `Its records up to offset ${through} are`;
  const message = `Cannot continue session ${session}: the storage of its log is full. ${stored} stored, and nothing after them. Make room, then resume the session`;
  return new AgentError('storage_full', message, { session, through }, { cause });
}
