import type { ToolCallId } from '@millrace/core';
import type { Agent } from '../create-agent.ts';
import { settingsOf } from '../run/agent-settings.ts';
import { CommandEar } from '../run/command-ear.ts';
import { type HeldSession, openHeld } from './held-session.ts';
import { OpenStep } from './open-step.ts';
import { assertSame } from './same-session.ts';

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
  await assertSame(settingsOf(agent).log, held.session, held.createdAt);
  const step = await OpenStep.open({ agent, session: held.session, open: openHeld(held) });
  try {
    const { journal, context } = step;
    if (journal.loop.run !== undefined) await new CommandEar(context, () => step.abort()).hear();
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
