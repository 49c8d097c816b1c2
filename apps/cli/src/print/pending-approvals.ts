import {
  type AskingAgent,
  type SessionId,
  type ToolCallId,
  type ToolCallPart,
  toolCallPart,
  transcript,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

export interface PendingApproval {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly reason?: string | undefined;
  /** The real path of the file that the approval request is about. Undefined for other calls. */
  readonly judged?: string | undefined;
  /** The sub-agent that asks for approval. Undefined if the main agent asks. */
  readonly from?: AskingAgent | undefined;
}

/** Returns all calls of a session that wait for approval, from any run. */
export async function pendingApprovals(
  log: Log,
  session: SessionId,
): Promise<readonly PendingApproval[]> {
  if ((await log.info(session)) === undefined) return [];
  return (await snapshot(log, session)).asked;
}

/**
 * Approves the waiting calls that the rules allow now. If a user resumes with `--yes` or with a new rule, the
 * flag or the rule also applies to waiting calls.
 */
export async function approvePending(
  log: Log,
  session: SessionId,
  allows: (call: ToolCallPart, judged: string | undefined) => Promise<boolean>,
): Promise<void> {
  const pending = await pendingApprovals(log, session);
  if (pending.length === 0) return;
  const parts = transcript(await snapshot(log, session)).flatMap((item) => item.parts);
  for (const { toolCallId, name, from, judged } of pending) {
    // No rule can answer a form.
    if (from?.form !== undefined) continue;
    const call =
      from === undefined
        ? parts.findLast((part) => part.kind === 'tool_call' && part.toolCallId === toolCallId)
        : toolCallPart(toolCallId, name, from.input);
    if (call?.kind !== 'tool_call' || !(await allows(call, judged))) continue;
    const command = { type: 'approve', toolCallId, by: 'a rule' };
    await log.submit(session, command, crypto.randomUUID());
  }
}
