import type { DraftRecord, ToolCallPart } from '@millrace/core';
import type { Decision } from '../loop/command.ts';
import type { TurnState } from '../loop/loop-state.ts';

/** What somebody decided on a call, as a fact. */
export function answerOf(
  { turn, attempt }: TurnState,
  { toolCallId, name }: ToolCallPart,
  decision: Decision,
): DraftRecord {
  const by = decision.by === undefined ? {} : { by: decision.by };
  const about = { type: 'approval_answered', toolCallId, name, ...by } as const;
  if (decision.type === 'deny') {
    const reason = decision.reason === undefined ? {} : { reason: decision.reason };
    return { turn, attempt, fact: { ...about, decision: 'deny', ...reason } };
  }
  const input = decision.input === undefined ? {} : { input: decision.input };
  const until = decision.until === undefined ? {} : { until: decision.until };
  return { turn, attempt, fact: { ...about, decision: 'allow', ...input, ...until } };
}
