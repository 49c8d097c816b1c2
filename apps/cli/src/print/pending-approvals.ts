import { type SessionId, type ToolCallId, type ToolCallPart, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { readRecords } from '../store/session-records.ts';

export interface PendingApproval {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly reason?: string | undefined;
  /** What the question is about, for example the real path of a file. */
  readonly judged?: string | undefined;
}

/** Returns the calls of a session that wait for approval, from any run. */
export async function pendingApprovals(
  log: Log,
  session: SessionId,
): Promise<readonly PendingApproval[]> {
  const pending = new Map<string, PendingApproval>();
  for await (const { fact } of readRecords(log, session)) {
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

/**
 * Approves the waiting calls that the rules allow now. A user who resumes with `--yes` or a new
 * rule means these calls too.
 */
export async function approvePending(
  log: Log,
  session: SessionId,
  allows: (call: ToolCallPart, judged: string | undefined) => Promise<boolean>,
): Promise<void> {
  const pending = await pendingApprovals(log, session);
  if (pending.length === 0) return;
  const parts = transcript(await snapshot(log, session)).flatMap((item) => item.parts);
  for (const { toolCallId, judged } of pending) {
    const call = parts.findLast(
      (part) => part.kind === 'tool_call' && part.toolCallId === toolCallId,
    );
    if (call?.kind !== 'tool_call' || !(await allows(call, judged))) continue;
    const command = { type: 'approve', toolCallId, by: 'a rule' };
    await log.submit(session, command, crypto.randomUUID());
  }
}
