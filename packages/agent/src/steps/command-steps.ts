import type { JsonObject, SessionId, ToolCallId } from '@millrace/core';
import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import { settingsOf } from '../run/agent-registry.ts';
import { CommandHandler } from '../run/commands.ts';
import { decodeCommand } from '../state/commands.ts';
import { assertSameSession, type HeldSession, openHeldSession } from './claim.ts';
import { OpenStep } from './open-step.ts';

export interface HearStepOptions extends HeldSession {
  /** As `advance` gave it: a session that was deleted since is not heard. */
  readonly createdAt?: number | undefined;
}

export interface Heard {
  /** The run is to stop. */
  readonly isAborted: boolean;
  /** The calls that somebody still has to decide on. */
  readonly asked: readonly ToolCallId[];
}

/**
 * Hears the commands that cannot wait for the next step: aborts, and decisions on calls. Those who
 * stream or run tools for the session find what was heard on the log. Never while it is advanced.
 */
export async function hearStep(agent: Agent, held: HearStepOptions): Promise<Heard> {
  await assertSameSession(settingsOf(agent).log, held.session, held.createdAt);
  const step = await OpenStep.open({ agent, session: held.session, open: openHeldSession(held) });
  try {
    const { journal, context } = step;
    if (journal.loop.run !== undefined)
      await new CommandHandler(context, () => step.abort()).handleQueued();
    const { run, turn } = journal.loop;
    const asked = [...(turn?.calls ?? [])].filter(
      ([, { isAsked, answer, isRejected }]) => isAsked && answer === undefined && !isRejected,
    );
    const isAborted = run?.aborted !== undefined;
    return { isAborted, asked: asked.map(([toolCallId]) => toolCallId) };
  } finally {
    await step.close();
  }
}

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
  const read = decodeCommand(command);
  if (read === undefined || read.type === 'unreadable') throw noCommand(session, command);
  const { log } = settingsOf(agent);
  await assertSameSession(log, session, createdAt);
  await log.submit(session, command, key);
}

function noCommand(session: SessionId, { type }: JsonObject): AgentError {
  const named = typeof type === 'string' ? `a command of the type ${type}` : 'a command';
  const message = `Cannot leave ${named} in session ${session}: nobody could read it`;
  return new AgentError('bad_option', message, { session });
}
