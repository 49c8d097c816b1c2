import { type Agent, AgentError, createAgent } from '@millrace/agent';
import { advance, callStep, hearStep, requestStep, submitStep } from '@millrace/agent/steps';
import { runId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { Context } from '@temporalio/activity';
import type { AutoSendInput, MillraceActivities, Sent } from '../contract/activities.ts';
import { currentIds } from '../ids/current-ids.ts';
import { failing, type LivingSignals, living } from './heartbeat.ts';
import { runHere } from './run-in-activity.ts';

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
    millraceAutoSend: (given) => living(async (signals) => sendAnswer(options, given, signals)),
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

/** Has a provider answer, streams that to the log, and gives the settled messages. */
export async function sendAnswer(
  { providers = {}, log }: Pick<ActivitiesOptions, 'providers' | 'log'>,
  { provider: name, instructions, items, ...given }: AutoSendInput,
  signals: LivingSignals,
): Promise<Sent> {
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider === undefined || log === undefined)
    throw missingProvider(name, provider !== undefined);
  const agent = createAgent({ name, provider, log, instructions });
  const { owner, key } = given;
  return runHere(agent, {
    ...{ session: sessionId(given.session), runId: runId(given.runId), items, key, signals },
    claim: {
      ...{ owner: `${owner}, auto-send ${given.runId}`, life: key },
      attempt: Context.current().info.attempt,
    },
  });
}

function missingProvider(name: string, isThere: boolean): AgentError {
  const what = isThere ? 'this worker has no log' : 'this worker does not have it';
  const message = `Cannot send by provider ${name}: ${what}. Give both to millracePlugin({ providers, log })`;
  return new AgentError('bad_option', message, { provider: name });
}
