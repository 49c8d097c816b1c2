import { noUsage } from '@millrace/core';
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
} from '@temporalio/workflow';
import type {
  AgentWorkflowInput,
  AgentWorkflowResult,
  ContinuationState,
  OnPlan,
} from '../contract/agent-workflow.ts';
import { AgentSession } from './agent-session.ts';
import { isListeningAlone, listenTo } from './signals.ts';

/**
 * Runs an agent as a workflow. The log contains the conversation. The workflow history contains only the
 * results of activities.
 */
export async function agentWorkflow(input: AgentWorkflowInput): Promise<AgentWorkflowResult> {
  const { agent, session, options = {}, carried } = input;
  const agentSession = new AgentSession({ ...options, agent, session, carried, isStarting: true });
  const stopListening = listenTo(agentSession);
  try {
    return await answerAll(agentSession, input);
  } finally {
    stopListening();
  }
}

async function answerAll(
  agentSession: AgentSession,
  { agent, input, options = {}, carried }: AgentWorkflowInput,
): Promise<AgentWorkflowResult> {
  if (input !== undefined && carried === undefined) await agentSession.sendMessage(input);
  const { session } = agentSession;
  const onPlan = continueWhenFull(agentSession, (given) =>
    continueAsNew<typeof agentWorkflow>({ agent, session, options, carried: given }),
  );
  let end = await agentSession.run({ onPlan });
  while (await hasMoreToAnswer(agentSession, end?.hasMoreInput ?? false, options.idleMs ?? 0))
    end = (await agentSession.run({ onPlan, ifAsked: true })) ?? end;
  const { stop = { reason: 'unknown' }, text = '', usage = noUsage } = end ?? {};
  const { value, valueAt, error } = end ?? {};
  return { session, stop, text, usage, value, ...(valueAt && { valueAt }), error };
}

/**
 * Waits for running signal handlers, and then up to `idleMs` for a new message. Returns true if a further run
 * may be needed.
 */
async function hasMoreToAnswer(
  agentSession: AgentSession,
  hasMoreInput: boolean,
  idleMs: number,
): Promise<boolean> {
  await condition(allHandlersFinished);
  if (hasMoreInput || agentSession.hasNewCommands) return true;
  if (idleMs === 0 || !(await condition(() => agentSession.hasNewCommands, idleMs))) return false;
  await condition(allHandlersFinished);
  return true;
}

/**
 * Returns the `onPlan` option for `run`. When the execution is full, the workflow continues as new. `next`
 * must pass the state to the next execution, as in `(carried) => continueAsNew({ …, carried })`.
 */
export function continueWhenFull(
  session: AgentSession,
  next: (carried: ContinuationState) => Promise<unknown>,
): OnPlan {
  const workflowScope = CancellationScope.current();
  return async () => {
    if (!session.isFull) return;
    await condition(allHandlersFinished);
    // A cancelled workflow does not continue as new, because the next execution would not be cancelled. A
    // workflow with other active sessions does not continue either, because the next execution would not
    // include these sessions.
    if (workflowScope.consideredCancelled || !isListeningAlone(session)) return;
    await next(session.carried);
  };
}
