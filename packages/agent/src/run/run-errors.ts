import type { ItemId, RunId, SessionId, ToolCallId } from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';

export function itemIdUsed(session: SessionId, item: ItemId): AgentError {
  const message = `Cannot say item ${item} in session ${session}: there is one of this id already. Give it another, or leave it out`;
  return new AgentError('bad_option', message, { session, item });
}

export function noSuchCall(session: SessionId, toolCallId: ToolCallId): AgentError {
  const message = `Cannot decide on call ${toolCallId} of session ${session}: there is no such call in the turn that goes on`;
  return new AgentError('no_such_call', message, { session, toolCallId });
}

export function notUnderstood(session: SessionId, types: readonly string[]): AgentError {
  const message = `Cannot drive session ${session}: it has ${types.join(', ')}, which this version does not know. Use a later one`;
  return new AgentError('not_understood', message, { session });
}

export function runOver(session: SessionId, runId: RunId): AgentError {
  const message = `Cannot say anything to run ${runId} of session ${session}: it is over. Run again, or resume`;
  return new AgentError('run_over', message, { session, runId });
}

export function runLeft(session: SessionId, runId: RunId): AgentError {
  const message = `Run ${runId} of session ${session} was left as it is. Whoever resumes the session goes on with it`;
  return new AgentError('left', message, { session, runId });
}
