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
  Carried,
  OnPlan,
} from '../contract/agent-workflow.ts';
import { AgentSession } from './agent-session.ts';
import { isListeningAlone, listenTo } from './signals.ts';

/** An agent as a workflow: what it says and does is on the log, and history has what it came to. */
export async function agentWorkflow(input: AgentWorkflowInput): Promise<AgentWorkflowResult> {
  const { agent, session, options = {}, carried } = input;
  const room = new AgentSession({ ...options, agent, session, carried, isStarting: true });
  const leave = listenTo(room);
  try {
    return await answerAll(room, input);
  } finally {
    leave();
  }
}

async function answerAll(
  room: AgentSession,
  { agent, input, options = {}, carried }: AgentWorkflowInput,
): Promise<AgentWorkflowResult> {
  if (input !== undefined && carried === undefined) await room.say(input);
  const { session } = room;
  const onPlan = continueWhenFull(room, (given) =>
    continueAsNew<typeof agentWorkflow>({ agent, session, options, carried: given }),
  );
  let end = await room.run({ onPlan });
  while (await isAskedFor(room, end?.isAsked ?? false, options.idleMs ?? 0))
    end = (await room.run({ onPlan, ifAsked: true })) ?? end;
  const { stop = { reason: 'unknown' }, text = '', usage = noUsage } = end ?? {};
  const { value, valueAt, error } = end ?? {};
  return { session, stop, text, usage, value, ...(valueAt && { valueAt }), error };
}

/** Whether there is, or comes in time, something that another run may have to answer. */
async function isAskedFor(room: AgentSession, isAsked: boolean, idleMs: number): Promise<boolean> {
  await condition(allHandlersFinished);
  if (isAsked || room.hasNews) return true;
  if (idleMs === 0 || !(await condition(() => room.hasNews, idleMs))) return false;
  await condition(allHandlersFinished);
  return true;
}

/**
 * For `run({ onPlan })`: when this execution is full, the next one goes on. `next` continues as new, with
 * what is carried in its input: `(carried) => continueAsNew({ …, carried })`.
 */
export function continueWhenFull(
  session: AgentSession,
  next: (carried: Carried) => Promise<unknown>,
): OnPlan {
  const whole = CancellationScope.current();
  return async () => {
    if (!session.isFull) return;
    await condition(allHandlersFinished);
    // The next execution would not know that it was cancelled, nor of other sessions that go on here.
    if (whole.consideredCancelled || !isListeningAlone(session)) return;
    await next(session.carried);
  };
}
