import { setTimeout as after } from 'node:timers/promises';
import { type Agent, AgentError } from '@millrace/agent';
import {
  advance,
  type Claim,
  callStep,
  type FinishedItem,
  holdStep,
  type Plan,
  requestStep,
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
import type { SentAnswer } from '../contract/activities.ts';
import { currentIds } from '../ids/current-ids.ts';
import type { HeartbeatSignals } from './heartbeat.ts';

export interface RunInActivityOptions {
  readonly session: SessionId;
  readonly runId: RunId;
  readonly claim: Pick<Claim, 'owner' | 'life' | 'attempt'>;
  /** The first message, as JSON items. The list may be empty. */
  readonly items: readonly JsonObject[];
  readonly key: string;
  readonly signals: HeartbeatSignals;
  readonly startsTurn?: boolean | undefined;
  /** The id of a failed run that this run repeats. Default: none. */
  readonly replaces?: RunId | undefined;
  /** Called while another process holds the session's lease, with the name of that holder. */
  readonly onHeld?: ((holder: string) => void) | undefined;
}

/**
 * The maximum number of claims per attempt of the activity. Claims are numbered, and the claims of a later
 * attempt have higher numbers.
 */
const claimsPerAttempt = 100_000;

/**
 * Runs all steps of a run in one activity. It waits until no other process drives the session. A retry
 * takes the session over from the failed attempt and continues the run.
 */
export async function runInActivity(
  agent: Agent,
  options: RunInActivityOptions,
): Promise<SentAnswer> {
  try {
    return await runExclusively(agent, options);
  } catch (error) {
    const code = isMillraceError(error) ? error.code : undefined;
    if (code === 'no_session') throw sessionDeleted(options.session);
    if (code !== 'fenced') throw error;
    // Temporal assumed that this worker is dead. If the next attempt already holds the session, this failure
    // has no effect. Otherwise, Temporal starts a new attempt.
    const message = `Cannot continue in session ${options.session}: another process took it over`;
    throw ApplicationFailure.retryable(message, 'millrace.overtaken');
  }
}

async function runExclusively(agent: Agent, options: RunInActivityOptions): Promise<SentAnswer> {
  const { session, items, key, signals, replaces } = options;
  const leaseMs = leaseDurationMs();
  const claimFor = (count: number): Claim => {
    const attempt = options.claim.attempt * claimsPerAttempt + count;
    return { ...options.claim, step: 1, attempt, leaseMs, isHeld: count > 0 };
  };
  const acquire = () => holdStep(agent, { session, claim: claimFor(0) });
  await waitForSession(acquire, signals, options.onHeld);
  if (items.length > 0) {
    const command = { type: 'message', when: 'follow_up', items };
    await submitStep(agent, { session, command, key });
  }
  let { runId: currentRunId, startsTurn } = options;
  let messages: readonly FinishedItem[] = [];
  let knownItems: number | undefined;
  let createdAt: number | undefined;
  for (let count = 1; ; count++) {
    const { trace } = currentIds();
    const given = {
      session,
      runId: currentRunId,
      claim: claimFor(count),
      trace,
      startsTurn,
      items: knownItems,
    };
    const { leave } = signals;
    const advanced = await advance(agent, { ...given, leave, createdAt, replaces });
    const { plan, epoch, settled } = advanced;
    createdAt = advanced.createdAt;
    // Another process has already ended the run of the dead attempt, so this attempt starts a new run.
    if (count === 1 && plan.do === 'done' && plan.stop.cause === 'interrupted') {
      currentRunId = runId(`${currentRunId}:${options.claim.attempt}`);
      startsTurn = true;
      continue;
    }
    messages = [...messages, ...settled];
    knownItems = advanced.items;
    if (plan.do === 'done') {
      const { stop, text, usage, error } = plan;
      return { session, stop, text, usage, ...(error && { error }), messages };
    }
    await executePlan(agent, plan, { session, epoch, leaseMs, ...signals });
  }
}

interface HeldSession extends HeartbeatSignals {
  readonly session: SessionId;
  readonly epoch: number;
  readonly leaseMs: number;
}

/** Executes the model request of a plan, or its tool calls in parallel. */
async function executePlan(
  agent: Agent,
  plan: Exclude<Plan, { do: 'done' }>,
  held: HeldSession,
): Promise<void> {
  if (plan.do === 'idle') throw nothingToAnswer(held.session);
  const { turn } = plan;
  if (plan.do === 'request') await requestStep(agent, { ...held, turn });
  else
    await Promise.all(
      plan.toolCalls.map(({ toolCallId }) =>
        callStep(agent, { ...held, turn, attempt: plan.attempt, toolCallId }),
      ),
    );
}

/**
 * Returns the failure for a deleted session. It is not retryable, because a retry would write to a new,
 * empty session.
 */
function sessionDeleted(session: SessionId): ApplicationFailure {
  const message = `Cannot continue in session ${session}: it was deleted during the run`;
  return ApplicationFailure.nonRetryable(message, 'millrace.no_session');
}

/** Returns the error for a session that has no message to answer. */
function nothingToAnswer(session: SessionId): AgentError {
  const message = `Cannot answer in session ${session}: it has no message to answer. Send a message first`;
  return new AgentError('stuck', message, { session });
}

/** The first and the longest delay before the next attempt to acquire the session, in milliseconds. */
const [firstMs, longestMs] = [50, 1_000];

/**
 * Acquires the session as soon as it is free: its driver has ended, or the lease of a dead driver has
 * expired. If a stop signal aborts during the wait, the function rejects with the reason of that signal.
 */
async function waitForSession<T>(
  acquire: () => Promise<T>,
  { signal, leave }: HeartbeatSignals,
  onHeld: (holder: string) => void = () => {},
): Promise<T> {
  const stopSignal = AbortSignal.any([leave, signal]);
  for (let waitMs = firstMs; ; waitMs = Math.min(2 * waitMs, longestMs)) {
    stopSignal.throwIfAborted();
    try {
      return await acquire();
    } catch (error) {
      if (!isMillraceError(error) || error.code !== 'held') throw error;
      onHeld(String(error.place['holder']));
    }
    // If a stop signal aborts, this wait ends, and the check above throws.
    await after(waitMs, undefined, { signal: stopSignal }).catch(() => {});
  }
}

const [minLeaseMs, leaseWithoutHeartbeatsMs] = [15_000, 60_000];

/**
 * Returns the duration of the lease after the last heartbeat, in milliseconds. The lease lasts longer than
 * Temporal needs to detect a dead worker. The retry of the same activity can therefore acquire the session
 * before other waiting activities.
 */
function leaseDurationMs(): number {
  const { heartbeatTimeoutMs } = Context.current().info;
  if (heartbeatTimeoutMs === undefined || heartbeatTimeoutMs === 0) return leaseWithoutHeartbeatsMs;
  return Math.max(minLeaseMs, 3 * heartbeatTimeoutMs);
}
