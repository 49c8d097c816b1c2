import { findItem, type Stop, toItem } from '@millrace/core';
import { LogError, type Producer } from '@millrace/log';
import type { Agent } from '../contract/agent.ts';
import type { TurnState } from '../contract/loop-state.ts';
import { failureDrafts } from '../run/recovery.ts';
import { TurnRequest } from '../run/request.ts';
import type { HeldSession } from './claim.ts';
import { OpenStep, type StepSignals } from './open-step.ts';
import { type FinishedItem, settleItem } from './settled-items.ts';

/** Options of `requestStep`. */
export interface RequestStepOptions extends HeldSession, StepSignals {
  /** The number of the turn, which the plan contains. */
  readonly turn: number;
}

/** The result of `requestStep`. */
export interface RequestStepResult {
  readonly turn: number;
  /** The number of the attempt whose output is valid. */
  readonly attempt: number;
  /** The stop of the response. Undefined if the turn ended without a response. */
  readonly stop: Stop | undefined;
  /** The finished answer. Undefined if the turn has no answer. */
  readonly item: FinishedItem | undefined;
}

/** A request step runs no tools while the response streams, because each call is a separate step. */
const noConcurrentWork = { halt: async () => {}, abandon: () => {} };

/**
 * Requests a turn's response and streams it to the log, as the producer of that request. A repeated step
 * fences the earlier one and supersedes its output. If the response is already complete, no request is sent.
 * The agent's `retry` settings apply to provider errors.
 */
export async function requestStep(
  agent: Agent,
  options: RequestStepOptions,
): Promise<RequestStepResult> {
  const { turn } = options;
  const step = await OpenStep.openProducer(agent, options);
  try {
    const asked = new TurnRequest(step.context);
    for (;;) {
      const now = openTurn(step, turn);
      if (now === undefined || step.context.phase.isAborting) break;
      await attempt(step, asked, now);
    }
    return stepResult(step, turn);
  } finally {
    await step.close();
  }
}

/** Returns the turn if it still waits for its response. Returns undefined otherwise. */
function openTurn({ journal }: OpenStep, turn: number): TurnState | undefined {
  const { turn: now } = journal.loop;
  return now?.turn === turn && now.stop === undefined ? now : undefined;
}

async function attempt(step: OpenStep, asked: TurnRequest, turn: TurnState): Promise<void> {
  const { driver, writer, journal } = step;
  const admission = await driver.admit({ for: 'request', turn: turn.turn });
  let producer = await writer.useAdmission(admission);
  // Attempts without an admission also have numbers. The producer is therefore admitted again until its
  // attempt number is higher than these numbers.
  while (producer.attempt <= turn.attempt) producer = await writer.useAdmission(admission);
  // Stops the attempt if a newer attempt has superseded it, even while it waits for its provider.
  step.onRecord = ({ fact, attempt, producer: by }) => {
    const isSuperseded = fact?.type === 'attempt_superseded' && attempt === producer.attempt;
    if (isSuperseded && by !== writer.name) step.fail(overtakenAttempt(step, producer));
  };
  await journal.write([]);
  const now = openTurn(step, turn.turn);
  if (now === undefined || step.context.phase.isAborting) return;
  try {
    await asked.attempt({ ...now, attempt: producer.attempt - 1 }, noConcurrentWork);
  } catch (error) {
    // User code threw. The log still works, so the turn can be ended properly.
    if (journal.failure !== undefined || journal.loop.turn?.stop !== undefined) throw error;
    await journal.settled();
    await journal.write(failureDrafts(journal));
  }
}

function overtakenAttempt({ journal }: OpenStep, { turn, attempt }: Producer): LogError {
  const { session } = journal.state;
  const message = `Cannot continue attempt ${turn}.${attempt} of session ${session}: the request was made again elsewhere`;
  return new LogError('fenced', message, { session, turn, attempt });
}

function stepResult({ journal }: OpenStep, turn: number): RequestStepResult {
  const { state, loop } = journal;
  const { turn: now } = loop;
  if (now?.turn !== turn) return { turn, attempt: 0, stop: undefined, item: undefined };
  const found = now.itemId === undefined ? undefined : findItem(state, now.itemId);
  const item = found?.finished ? settleItem(toItem(found), state) : undefined;
  return { turn, attempt: now.attempt, stop: now.stop, item };
}
