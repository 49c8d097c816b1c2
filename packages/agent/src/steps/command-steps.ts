import type { JsonObject, JsonValue, SessionId, ToolCallId } from '@millrace/core';
import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import { unknownCommandText } from '../input/submit-command.ts';
import { settingsOf } from '../run/agent-registry.ts';
import { CommandHandler } from '../run/commands.ts';
import { decodeCommand } from '../state/commands.ts';
import { askedCalls } from '../state/turn-calls.ts';
import { assertSameSession, type HeldSession, openHeldSession } from './claim.ts';
import { OpenStep } from './open-step.ts';

/** Options of `commandStep`. */
export interface CommandStepOptions extends HeldSession {
  /**
   * The `createdAt` that `advance` returned. The step fails if the session was deleted after that. Default:
   * not checked.
   */
  readonly createdAt?: number | undefined;
}

/** The result of `commandStep`. */
export interface CommandStepResult {
  /** True if the run has to stop. */
  readonly isAborted: boolean;
  /**
   * The calls, and the questions of sub-agents, that still need a decision of the user. Calls whose sub-agent
   * is parked are included.
   */
  readonly asked: readonly ToolCallId[];
}

/**
 * Handles the commands that cannot wait for the next step, for example aborts and decisions on calls. Request
 * steps and call steps read the effects from the log. `commandStep` must not run at the same time as
 * `advance`.
 */
export async function commandStep(
  agent: Agent,
  held: CommandStepOptions,
): Promise<CommandStepResult> {
  await assertSameSession(settingsOf(agent).log, held.session, held.createdAt);
  const step = await OpenStep.open({ agent, session: held.session, open: openHeldSession(held) });
  try {
    const { journal, context } = step;
    if (journal.loop.run !== undefined)
      await new CommandHandler(context, () => step.abort()).handleQueued();
    const isAborted = journal.loop.run?.aborted !== undefined;
    return { isAborted, asked: [...askedCalls(journal.state, journal.loop)] };
  } finally {
    await step.close();
  }
}

/** Options of `submitStep`. */
export interface SubmitStepOptions {
  readonly session: SessionId;
  /**
   * The command as JSON, for example `{ type: 'message', when: 'steer', items }` or `{ type: 'abort',
   * reason }`.
   */
  readonly command: JsonObject;
  /** Idempotency key. A command has no effect if its key was used before. */
  readonly key: string;
  /**
   * The `createdAt` that `advance` returned. The step fails if the session was deleted after that. Default:
   * not checked.
   */
  readonly createdAt?: number | undefined;
}

/** Submits a command to the session's log. The driver of the session handles it. */
export async function submitStep(agent: Agent, options: SubmitStepOptions): Promise<void> {
  const { session, command, key, createdAt } = options;
  const read = decodeCommand(command);
  if (read.type === 'unknown' || read.type === 'unreadable') throw badCommand(session, read);
  const { log } = settingsOf(agent);
  await assertSameSession(log, session, createdAt);
  await log.submit(session, command, key);
}

function badCommand(
  session: SessionId,
  read: { readonly type: 'unreadable' } | { readonly type: 'unknown'; readonly given: JsonValue },
): AgentError {
  const why = read.type === 'unknown' ? unknownCommandText(read.given) : 'it cannot be decoded';
  const message = `Cannot submit the command to session ${session}: ${why}`;
  return new AgentError('bad_command', message, { session });
}
