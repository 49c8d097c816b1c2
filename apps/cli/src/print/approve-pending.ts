import type { SessionId, ToolCallPart } from '@millrace/core';
import { transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { pendingApprovals } from './pending-approvals.ts';

/**
 * Approves of the calls that a session waits for and that are allowed by now: who goes on with `--yes`
 * or a new rule means those as well.
 */
export async function approvePending(
  log: Log,
  session: SessionId,
  allows: (call: ToolCallPart) => Promise<boolean>,
): Promise<void> {
  const pending = await pendingApprovals(log, session);
  if (pending.length === 0) return;
  const parts = transcript(await snapshot(log, session)).flatMap((item) => item.parts);
  for (const { toolCallId } of pending) {
    const call = parts.findLast(
      (part) => part.kind === 'tool_call' && part.toolCallId === toolCallId,
    );
    if (call?.kind !== 'tool_call' || !(await allows(call))) continue;
    const command = { type: 'approve', toolCallId, by: 'a rule' };
    await log.submit(session, command, crypto.randomUUID());
  }
}
