import { setTimeout as after } from 'node:timers/promises';
import { type Agent, AgentError } from '@millrace/agent';
import {
  advance,
  type Claim,
  callStep,
  holdStep,
  type Plan,
  requestStep,
  type Settled,
  submitStep,
} from '@millrace/agent/steps';
import {
  isMillraceError,
  type JsonObject,
  type RunId,
  runId,
  type SessionId,
} from '@millrace/core';
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Sent } from '../contract/activities.ts';
import { currentIds } from '../ids/current-ids.ts';
import type { LivingSignals } from './heartbeat.ts';

export interface RunHereOptions {
  readonly session: SessionId;
  readonly runId: RunId;
  readonly claim: Pick<Claim, 'owner' | 'life' | 'attempt'>;
  /** What is said first, as JSON. */
  readonly items: readonly JsonObject[];
  readonly key: string;
  readonly signals: LivingSignals;
  readonly startsTurn?: boolean | undefined;
  /** A run that failed, and that is done again by this one. */
  readonly replaces?: RunId | undefined;
  /** Is told who drives the session, where it has to wait. */
  readonly onHeld?: ((holder: string) => void) | undefined;
}

/** Claims within one try of an activity are told apart by their last digits. */
const claimsPerTry = 100_000;

/**
 * All steps of a run in one activity, which waits until nobody else drives the session. Tried again, it
 * takes the session from the dead try and goes on where that was.
 */
export async function runHere(agent: Agent, options: RunHereOptions): Promise<Sent> {
  try {
    return await runAlone(agent, options);
  } catch (error) {
    const code = isMillraceError(error) ? error.code : undefined;
    if (code === 'no_session') throw gone(options.session);
    if (code !== 'fenced') throw error;
    // It was taken for dead. Where its next try has the session, nobody asks; else that one says it anew.
    const message = `Cannot go on in session ${options.session}: another one drives it since`;
    throw ApplicationFailure.retryable(message, 'millrace.overtaken');
  }
}

async function runAlone(agent: Agent, options: RunHereOptions): Promise<Sent> {
  const { session, items, key, signals, replaces } = options;
  const leaseMs = leaseMsHere();
  const claimed = (count: number): Claim => {
    const attempt = options.claim.attempt * claimsPerTry + count;
    return { ...options.claim, step: 1, attempt, leaseMs, isHeld: count > 0 };
  };
  const take = () => holdStep(agent, { session, claim: claimed(0) });
  await whenFree(take, signals, options.onHeld);
  if (items.length > 0) {
    const command = { type: 'message', when: 'follow_up', items };
    await submitStep(agent, { session, command, key });
  }
  let { runId: own, startsTurn } = options;
  let messages: readonly Settled[] = [];
  let known: number | undefined;
  let createdAt: number | undefined;
  for (let count = 1; ; count++) {
    const { trace } = currentIds();
    const given = { session, runId: own, claim: claimed(count), trace, startsTurn, items: known };
    const { leave } = signals;
    const advanced = await advance(agent, { ...given, leave, createdAt, replaces });
    const { plan, epoch, settled } = advanced;
    createdAt = advanced.createdAt;
    // Somebody else came after a dead try, and ended what that had begun: it is said anew.
    if (count === 1 && plan.do === 'done' && plan.stop.cause === 'interrupted') {
      own = runId(`${own}:${options.claim.attempt}`);
      startsTurn = true;
      continue;
    }
    messages = [...messages, ...settled];
    known = advanced.items;
    if (plan.do === 'done') {
      const { stop, text, usage, error } = plan;
      return { session, stop, text, usage, ...(error && { error }), messages };
    }
    await done(agent, plan, { session, epoch, leaseMs, ...signals });
  }
}

interface Held extends LivingSignals {
  readonly session: SessionId;
  readonly epoch: number;
  readonly leaseMs: number;
}

/** The request of a plan, or its calls side by side. */
async function done(agent: Agent, plan: Exclude<Plan, { do: 'done' }>, held: Held): Promise<void> {
  if (plan.do === 'idle') throw nothingToSay(held.session);
  const { turn } = plan;
  if (plan.do === 'request') await requestStep(agent, { ...held, turn });
  else
    await Promise.all(
      plan.calls.map(({ toolCallId }) =>
        callStep(agent, { ...held, turn, attempt: plan.attempt, toolCallId }),
      ),
    );
}

/** It was deleted meanwhile: another try would say it in an empty one. */
function gone(session: SessionId): ApplicationFailure {
  const message = `Cannot go on in session ${session}: it was deleted meanwhile`;
  return ApplicationFailure.nonRetryable(message, 'millrace.no_session');
}

/** It is not asked for. */
function nothingToSay(session: SessionId): AgentError {
  const message = `Cannot answer in session ${session}: nothing was said`;
  return new AgentError('stuck', message, { session });
}

/** How long is waited before it is tried again: soon at first, then every second. */
const [firstMs, longestMs] = [50, 1_000];

/**
 * Takes a session when it is free: when whoever drives it is through, or its lease ended because it died.
 * Whoever is told to stop meanwhile has said nothing, and throws what it was told.
 */
async function whenFree<T>(
  take: () => Promise<T>,
  { signal, leave }: LivingSignals,
  onHeld: (holder: string) => void = () => {},
): Promise<T> {
  const stops = AbortSignal.any([leave, signal]);
  for (let waitMs = firstMs; ; waitMs = Math.min(2 * waitMs, longestMs)) {
    stops.throwIfAborted();
    try {
      return await take();
    } catch (error) {
      if (!isMillraceError(error) || error.code !== 'held') throw error;
      onHeld(String(error.place['holder']));
    }
    // Told to stop, it wakes up and throws above.
    await after(waitMs, undefined, { signal: stops }).catch(() => {});
  }
}

const [leastMs, withoutHeartbeatsMs] = [15_000, 60_000];

/**
 * How long a session stays an activity's after its last sign of life. Longer than Temporal takes to find
 * out that a worker died, so that the next try of the same activity comes before those who wait.
 */
function leaseMsHere(): number {
  const { heartbeatTimeoutMs } = Context.current().info;
  if (heartbeatTimeoutMs === undefined || heartbeatTimeoutMs === 0) return withoutHeartbeatsMs;
  return Math.max(leastMs, 3 * heartbeatTimeoutMs);
}
