import type { ToolCallId, ToolCallPart } from '@millrace/core';
import { CallRunner } from '../calls/call-runner.ts';
import type { Agent } from '../contract/agent.ts';
import type { TurnState } from '../contract/loop-state.ts';
import { lostExecutions } from '../run/recovery.ts';
import { unansweredCalls } from '../state/turn-calls.ts';
import type { HeldSession } from './claim.ts';
import { OpenStep, type StepSignals } from './open-step.ts';

/** Options of `callStep`. */
export interface CallStepOptions extends HeldSession, StepSignals {
  readonly turn: number;
  readonly attempt: number;
  readonly toolCallId: ToolCallId;
}

/** The result of `callStep`. */
export interface CallStepResult {
  readonly toolCallId: ToolCallId;
  /**
   * `answered` means that the call has its result. `asked` means that it waits for the user. `left` means
   * that it has no result, because the run stops.
   */
  readonly outcome: 'answered' | 'asked' | 'left';
}

/**
 * Runs one tool call, as the producer of that call. A repeated step fences the earlier one, which can then no
 * longer write. An execution that the earlier step started is lost. In this case, the tool runs again only if
 * it has `afterCrash: 'repeat'`.
 */
export async function callStep(agent: Agent, options: CallStepOptions): Promise<CallStepResult> {
  const { turn, attempt, toolCallId } = options;
  const step = await OpenStep.openProducer(agent, options);
  try {
    const { journal, driver, writer } = step;
    if (findCall(step, options) === undefined) return { toolCallId, outcome: 'answered' };
    await writer.useAdmission(await driver.admit({ for: 'call', turn, attempt, toolCallId }));
    // Earlier attempts at this step can no longer write. The empty write fetches the last records that they
    // wrote.
    await journal.write([]);
    const found = findCall(step, options);
    if (found === undefined) return { toolCallId, outcome: 'answered' };
    const lost = lostExecutions(found.turn, journal.state.session, toolCallId);
    if (lost.length > 0) await journal.write(lost);
    return { toolCallId, outcome: await answerCall(step, found) };
  } finally {
    await step.close();
  }
}

interface PendingToolCall {
  readonly turn: TurnState;
  readonly call: ToolCallPart;
}

/** Returns the call with its turn. Returns undefined if the call already has a result. */
function findCall({ journal }: OpenStep, at: CallStepOptions): PendingToolCall | undefined {
  const { turn } = journal.loop;
  if (turn?.turn !== at.turn || turn.attempt !== at.attempt) return undefined;
  const waiting = unansweredCalls(journal.state, turn);
  const call = waiting.find(({ toolCallId }) => toolCallId === at.toolCallId);
  return call && { turn, call };
}

async function answerCall(
  step: OpenStep,
  { turn, call }: PendingToolCall,
): Promise<CallStepResult['outcome']> {
  const { context } = step;
  if (context.phase.isAborting) return 'left';
  await context.loadStepTools(turn.turn);
  const runner = new CallRunner(context, turn);
  const outcome = await runner.answer([call]);
  await runner.halt();
  if (outcome === 'parked') return 'asked';
  const { state, loop } = context.journal;
  const isOpen = unansweredCalls(state, loop.turn).some(
    ({ toolCallId }) => toolCallId === call.toolCallId,
  );
  return isOpen ? 'left' : 'answered';
}
