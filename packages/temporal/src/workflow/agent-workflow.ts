import { type JsonObject, noUsage } from '@millrace/core';
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  log,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { AgentWorkflowInput, AgentWorkflowResult } from '../contract/workflow-input.ts';
import { AgentSession, type CallsPlan, type RequestPlan } from './agent-session.ts';
import {
  approveSignal,
  denySignal,
  interruptSignal,
  messageSignal,
  stateQuery,
  steerSignal,
  transcriptQuery,
  wakeSignal,
} from './signals.ts';

const defaultTurns = 200;

/** An agent as a workflow: what it says and does is on the log, and history has what it came to. */
export async function agentWorkflow(input: AgentWorkflowInput): Promise<AgentWorkflowResult> {
  const { agent, session, options = {}, carried } = input;
  const room = new AgentSession({ ...options, agent, session, carried, isStarting: true });
  listen(room);
  if (input.input !== undefined && carried === undefined) await room.say(input.input);
  let turns = 0;
  const whole = CancellationScope.current();
  const onPlan = async (plan: RequestPlan | CallsPlan) => {
    if (plan.do === 'request') turns += 1;
    const isFull = turns > (options.turnsPerExecution ?? defaultTurns);
    if (!isFull && !workflowInfo().continueAsNewSuggested) return;
    await condition(allHandlersFinished);
    // The next execution would not know that it was cancelled.
    if (whole.consideredCancelled) return;
    const next = { agent, session: room.session, options, carried: room.carried };
    await continueAsNew<typeof agentWorkflow>(next);
  };
  let end = await room.run({ onPlan });
  while (await isAskedFor(room, end?.isAsked ?? false, options.idleMs ?? 0))
    end = (await room.run({ onPlan, ifAsked: true })) ?? end;
  const { stop = { reason: 'unknown' }, text = '', usage = noUsage, value, error } = end ?? {};
  return { session: room.session, stop, text, usage, value, error };
}

/** Whether there is, or comes in time, something that another run may have to answer. */
async function isAskedFor(room: AgentSession, isAsked: boolean, idleMs: number): Promise<boolean> {
  await condition(allHandlersFinished);
  if (isAsked || room.hasNews) return true;
  if (idleMs === 0 || !(await condition(() => room.hasNews, idleMs))) return false;
  await condition(allHandlersFinished);
  return true;
}

/** Signals become commands on the log. One that cannot be read is no reason for the workflow to fail. */
function listen(room: AgentSession): void {
  const heard = (work: Promise<void>) =>
    work.catch((error: unknown) => log.warn('A signal was not heard', { error: String(error) }));
  const tell = (command: object) =>
    heard(room.tell(JSON.parse(JSON.stringify(command)) as JsonObject));
  setHandler(messageSignal, (said) => heard(room.say(said)));
  setHandler(steerSignal, (said) => heard(room.say(said, 'steer')));
  setHandler(interruptSignal, (reason) => heard(room.interrupt(reason)));
  setHandler(approveSignal, (about) => tell({ ...about, type: 'approve' }));
  setHandler(denySignal, (about) => tell({ ...about, type: 'deny' }));
  setHandler(wakeSignal, () => {
    room.hasNews = true;
    return heard(room.hear());
  });
  setHandler(transcriptQuery, () => room.transcript);
  setHandler(stateQuery, () => room.state);
}
