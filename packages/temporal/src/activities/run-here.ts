import { type Agent, AgentError } from '@millrace/agent';
import {
  advance,
  type Claim,
  callStep,
  requestStep,
  type Settled,
  type StepSignals,
  submitStep,
} from '@millrace/agent/steps';
import type { JsonObject, RunId, SessionId } from '@millrace/core';
import type { Sent } from '../contract/activities.ts';
import { currentIds } from '../ids/current-ids.ts';

export interface RunHereOptions {
  readonly session: SessionId;
  readonly runId: RunId;
  readonly claim: Claim;
  /** What is said first, as JSON. */
  readonly items: readonly JsonObject[];
  readonly key: string;
  readonly signals: StepSignals;
  readonly startsTurn?: boolean | undefined;
}

/** Claims within one try of an activity are told apart by their last digits. */
const claimsPerTry = 100_000;

/** All steps of a run in one activity. Tried again, it goes on where the dead try was. */
export async function runHere(agent: Agent, options: RunHereOptions): Promise<Sent> {
  const { session, runId, items, key, signals, startsTurn } = options;
  if (items.length > 0) {
    const command = { type: 'message', when: 'follow_up', items };
    await submitStep(agent, { session, command, key });
  }
  const messages: Settled[] = [];
  let known: number | undefined;
  for (let count = 1; ; count++) {
    const attempt = options.claim.attempt * claimsPerTry + count;
    const claim = { ...options.claim, attempt };
    const { trace } = currentIds();
    const own = { session, runId, claim, trace, startsTurn, items: known, leave: signals.leave };
    const advanced = await advance(agent, own);
    messages.push(...advanced.settled);
    known = advanced.items;
    const { plan, epoch } = advanced;
    const held = { session, epoch, ...signals };
    if (plan.do === 'done') {
      const { stop, text, usage, error } = plan;
      return { session, stop, text, usage, ...(error && { error }), messages };
    }
    if (plan.do === 'idle') throw nothingToSay(session);
    const { turn } = plan;
    if (plan.do === 'request') await requestStep(agent, { ...held, turn });
    else
      await Promise.all(
        plan.calls.map(({ toolCallId }) =>
          callStep(agent, { ...held, turn, attempt: plan.attempt, toolCallId }),
        ),
      );
  }
}

/** It is not asked for. */
function nothingToSay(session: SessionId): AgentError {
  const message = `Cannot answer in session ${session}: nothing was said`;
  return new AgentError('stuck', message, { session });
}
