import type { JsonObject, SessionId } from '@millrace/core';
import type { Agent } from '../create-agent.ts';
import { AgentError } from '../errors/agent-error.ts';
import { commandOf } from '../loop/command.ts';
import { settingsOf } from '../run/agent-settings.ts';
import { assertSame } from './same-session.ts';

export interface SubmitStepOptions {
  readonly session: SessionId;
  /** As JSON: `{ type: 'message', when: 'steer', items }`, `{ type: 'abort', reason }` … */
  readonly command: JsonObject;
  /** The same again changes nothing. */
  readonly key: string;
  /** As `advance` gave it: in a session that was deleted since nothing is left. */
  readonly createdAt?: number | undefined;
}

/** Leaves a command on the session's log, for whoever drives it. */
export async function submitStep(agent: Agent, options: SubmitStepOptions): Promise<void> {
  const { session, command, key, createdAt } = options;
  const read = commandOf(command);
  if (read === undefined || read.type === 'unreadable') throw noCommand(session, command);
  const { log } = settingsOf(agent);
  await assertSame(log, session, createdAt);
  await log.submit(session, command, key);
}

function noCommand(session: SessionId, { type }: JsonObject): AgentError {
  const named = typeof type === 'string' ? `a command of the type ${type}` : 'a command';
  const message = `Cannot leave ${named} in session ${session}: nobody could read it`;
  return new AgentError('bad_option', message, { session });
}
