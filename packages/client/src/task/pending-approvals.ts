import type { Fact, LogRecord, ToolCallId } from '@millrace/core';

/** A tool call that waits for somebody's word. */
export interface PendingApproval {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly turn: number;
  readonly reason?: string;
  /** What an answer that lasts would be about. */
  readonly rule?: string;
}

/** Those that wait after a record. The same list where nothing changed. */
export function foldApprovals(
  pending: readonly PendingApproval[],
  { fact, turn }: LogRecord,
): readonly PendingApproval[] {
  if (fact === undefined) return pending;
  if (fact.type === 'approval_asked') {
    const { type: _, ...asked } = fact;
    // Who goes on after a crash may ask again.
    const others = pending.filter(({ toolCallId }) => toolCallId !== asked.toolCallId);
    return [...others, { ...asked, turn }];
  }
  const isOver = isOverBy(fact, turn);
  return pending.some(isOver) ? pending.filter((one) => !isOver(one)) : pending;
}

function isOverBy(fact: Fact, turn: number): (pending: PendingApproval) => boolean {
  switch (fact.type) {
    case 'approval_answered':
    case 'tool_call_rejected':
    case 'tool_execution_finished':
      return ({ toolCallId }) => toolCallId === fact.toolCallId;
    case 'turn_finished':
      return (one) => one.turn === turn;
    default:
      return () => false;
  }
}
