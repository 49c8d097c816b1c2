import { type ItemId, isMillraceError, type RunId, type SessionId } from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';

export function itemIdUsed(session: SessionId, item: ItemId): AgentError {
  const message = `Cannot add item ${item} to session ${session}: the session already has an item with this id. Use another id`;
  return new AgentError('bad_option', message, { session, item });
}

export function notUnderstood(session: SessionId, types: readonly string[]): AgentError {
  const message = `Cannot run session ${session}: it contains ${types.join(', ')}, which this version does not support. Use a later version`;
  return new AgentError('not_understood', message, { session });
}

export function runOver(session: SessionId, runId: RunId): AgentError {
  const message = `Cannot send a command to run ${runId} of session ${session}: the run has ended. Start another run, or resume the session. To decide on a call of a parked session, use agent.approve or agent.deny, then agent.resume`;
  return new AgentError('run_over', message, { session, runId });
}

export function runLeft(session: SessionId, runId: RunId): AgentError {
  const message = `Run ${runId} of session ${session} was left unfinished. Resume the session to continue it`;
  return new AgentError('left', message, { session, runId });
}

/** Adds to the error of a full storage which records are stored. Other errors are returned unchanged. */
export async function withStoredPart(
  session: SessionId,
  through: number,
  error: unknown,
): Promise<unknown> {
  if (!isMillraceError(error) || error.code !== 'storage_full') return error;
  // The code loads on demand, because a full storage is rare.
  return (await import('./recovery.ts')).storageFull(session, through, error);
}

export function noOutput(agent: string): AgentError {
  const message = `Cannot get a value from agent ${agent}: it has no output schema. Pass output to createAgent`;
  return new AgentError('bad_option', message, { agent, option: 'output' });
}
