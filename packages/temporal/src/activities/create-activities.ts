import { type Agent, AgentError } from '@millrace/agent';
import { advance, callStep, hearStep, requestStep, submitStep } from '@millrace/agent/steps';
import { runId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { Context } from '@temporalio/activity';
import type { MillraceActivities } from '../contract/activities.ts';
import { currentIds } from '../ids/current-ids.ts';
import { autoSend } from './auto-send.ts';
import { failing, living } from './living.ts';

export interface ActivitiesOptions {
  /** Those that workflows name, by their own names. */
  readonly agents?: readonly Agent[] | undefined;
  /** Those that `autoSend` names. */
  readonly providers?: { readonly [name: string]: Provider } | undefined;
  /** Where `autoSend` streams to; agents have their own. */
  readonly log?: Log | undefined;
}

/** The steps of an agent's run, as activities: each opens the session, does its part and lets it go. */
export function createActivities(options: ActivitiesOptions): MillraceActivities {
  const agents = new Map((options.agents ?? []).map((agent) => [agent.name, agent]));
  const agentOf = (name: string): Agent => {
    const agent = agents.get(name);
    if (agent === undefined) throw unknownAgent(name, [...agents.keys()]);
    return agent;
  };
  const ofTask = <T extends { readonly session: string }>({ session, ...rest }: T) => ({
    ...rest,
    session: sessionId(session),
  });
  return {
    millraceSubmit: ({ agent, ...given }) =>
      failing(async () => submitStep(agentOf(agent), withTrace(ofTask(given)))),
    millraceHear: ({ agent, ...held }) =>
      failing(async () => hearStep(agentOf(agent), ofTask(held))),
    millraceAdvance: ({ agent, owner, life, step, ...given }) =>
      living(async ({ leave }) => {
        const claim = { owner, life, step, attempt: Context.current().info.attempt };
        const { trace } = currentIds();
        const own = { ...ofTask(given), runId: runId(given.runId) };
        return advance(agentOf(agent), { ...own, claim, leave, trace });
      }),
    millraceRequest: ({ agent, ...given }) =>
      living(async (signals) => requestStep(agentOf(agent), { ...ofTask(given), ...signals })),
    millraceCall: ({ agent, ...given }) =>
      living(async (signals) => callStep(agentOf(agent), { ...ofTask(given), ...signals })),
    millraceAutoSend: (given) => living(async (signals) => autoSend(options, given, signals)),
  };
}

/** A message brings the trace of whoever sent it, for the run that is begun for it. */
function withTrace<T extends { readonly command: object }>(given: T): T {
  const { trace } = currentIds();
  const isMessage = 'type' in given.command && given.command.type === 'message';
  if (trace === undefined || !isMessage) return given;
  return { ...given, command: { ...given.command, trace: { ...trace } } };
}

function unknownAgent(name: string, known: readonly string[]): AgentError {
  const there = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  const message = `Cannot find agent ${name} in this worker: ${there}. Give it to millracePlugin({ agents })`;
  return new AgentError('unknown_agent', message, { agent: name });
}
