import { type Agent, AgentError, createAgent } from '@millrace/agent';
import { advance, callStep, commandStep, requestStep, submitStep } from '@millrace/agent/steps';
import { runId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { Context } from '@temporalio/activity';
import type { AutoSendInput, MillraceActivities, SentAnswer } from '../contract/activities.ts';
import { currentIds } from '../ids/current-ids.ts';
import { assertKnownOptions } from '../known-options.ts';
import { type HeartbeatSignals, withFailureTypes, withHeartbeat } from './heartbeat.ts';
import { runInActivity } from './run-in-activity.ts';

/** Options of `createActivities`: the agents, providers and log of a worker. */
export interface ActivitiesOptions {
  /** Agents that workflows refer to by name. Default: none. */
  readonly agents?: readonly Agent[] | undefined;
  /** Providers that `autoSend` refers to by name. Default: none. */
  readonly providers?: { readonly [name: string]: Provider } | undefined;
  /**
   * The log that `autoSend` streams to. Agents have their own log. Required for `autoSend`.
   * Default: none.
   */
  readonly log?: Log | undefined;
}

/**
 * Creates the activities for the steps of an agent's run. Each activity opens the session, performs its
 * step and releases the session.
 */
export function createActivities(options: ActivitiesOptions): MillraceActivities {
  assertKnownOptions('createActivities', options, { agents: true, providers: true, log: true });
  const agents = new Map((options.agents ?? []).map((agent) => [agent.name, agent]));
  const agentOf = (name: string): Agent => {
    const agent = agents.get(name);
    if (agent === undefined) throw unknownAgent(name, [...agents.keys()]);
    return agent;
  };
  const withSessionId = <T extends { readonly session: string }>({ session, ...rest }: T) => ({
    ...rest,
    session: sessionId(session),
  });
  return {
    millraceSubmit: ({ agent, ...given }) =>
      withFailureTypes(async () => submitStep(agentOf(agent), withTrace(withSessionId(given)))),
    millraceHear: ({ agent, ...held }) =>
      withFailureTypes(async () => commandStep(agentOf(agent), withSessionId(held))),
    millraceAdvance: ({ agent, owner, life, step, ...given }) =>
      withHeartbeat(async ({ leave }) => {
        const claim = { owner, life, step, attempt: Context.current().info.attempt };
        const { trace } = currentIds();
        const own = { ...withSessionId(given), runId: runId(given.runId) };
        return advance(agentOf(agent), { ...own, claim, leave, trace });
      }),
    millraceRequest: ({ agent, ...given }) =>
      withHeartbeat(async (signals) =>
        requestStep(agentOf(agent), { ...withSessionId(given), ...signals }),
      ),
    millraceCall: ({ agent, ...given }) =>
      withHeartbeat(async (signals) =>
        callStep(agentOf(agent), { ...withSessionId(given), ...signals }),
      ),
    millraceAutoSend: (given) =>
      withHeartbeat(async (signals) => sendAnswer(options, given, signals)),
  };
}

/**
 * If the command is a message, returns it with the trace of its sender. The run for this message then belongs
 * to that trace.
 */
function withTrace<T extends { readonly command: object }>(given: T): T {
  const { trace } = currentIds();
  const isMessage = 'type' in given.command && given.command.type === 'message';
  if (trace === undefined || !isMessage) return given;
  return { ...given, command: { ...given.command, trace: { ...trace } } };
}

function unknownAgent(name: string, known: readonly string[]): AgentError {
  const there = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  const message = `Cannot find agent ${name} on this worker: ${there}. Pass it to millracePlugin({ agents })`;
  return new AgentError('unknown_agent', message, { agent: name });
}

/** Streams the answer of a provider to the log and returns the finished messages. */
async function sendAnswer(
  { providers = {}, log }: Pick<ActivitiesOptions, 'providers' | 'log'>,
  { provider: name, instructions, items, ...given }: AutoSendInput,
  signals: HeartbeatSignals,
): Promise<SentAnswer> {
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider === undefined || log === undefined)
    throw missingProvider(name, provider !== undefined);
  const agent = createAgent({ name, provider, log, instructions });
  const { owner, key } = given;
  return runInActivity(agent, {
    ...{ session: sessionId(given.session), runId: runId(given.runId), items, key, signals },
    claim: {
      ...{ owner: `${owner}, auto-send ${given.runId}`, life: key },
      attempt: Context.current().info.attempt,
    },
  });
}

function missingProvider(name: string, isThere: boolean): AgentError {
  const what = isThere ? 'this worker has no log' : 'this worker does not have it';
  const message = `Cannot use provider ${name}: ${what}. Pass both to millracePlugin({ providers, log })`;
  return new AgentError('bad_option', message, { provider: name });
}
