import type { SessionId, ToolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { recordsOf } from '../store/records-of.ts';

export interface PendingApproval {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly reason?: string | undefined;
}

/** The calls of a session that somebody has to decide on, whichever run asked. */
export async function pendingApprovals(
  log: Log,
  session: SessionId,
): Promise<readonly PendingApproval[]> {
  const pending = new Map<string, PendingApproval>();
  for await (const { fact } of recordsOf(log, session)) {
    switch (fact?.type) {
      case 'approval_asked':
        pending.set(fact.toolCallId, fact);
        break;
      case 'approval_answered':
      case 'tool_call_rejected':
      case 'tool_execution_started':
        pending.delete(fact.toolCallId);
        break;
      default:
    }
  }
  return [...pending.values()];
}
