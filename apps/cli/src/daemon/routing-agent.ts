import { type Agent, createAgent, type Run, type RunResult } from '@millrace/agent';
import { isMillraceError, noUsage, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { type Provider, ProviderError } from '@millrace/providers';
import { deferredRun } from './deferred-run.ts';

interface RoutingAgentOptions {
  readonly name: string;
  /** Returns the agent for a session. If it throws, the run fails with this error and writes nothing. */
  readonly agentFor: (session: SessionId) => Promise<Agent>;
  /** Called when a run has acquired the lease of its session. */
  readonly onDriving: (session: SessionId) => void;
  /** Called before a session is forked. The fork must not get more rights than its origin. */
  readonly onFork: (origin: SessionId, fork: string) => void;
}

/**
 * Creates an agent that drives each session with the agent of its own folder. A server serves it like any
 * other agent loop.
 */
export function routingAgent(options: RoutingAgentOptions): Agent {
  const { name, agentFor, onDriving, onFork } = options;
  const route = (session: string): Promise<Agent> => agentFor(sessionId(session));
  const start = (session: string, use: (agent: Agent) => Run): Run => {
    const starting = route(session).then(use, (error: unknown) =>
      failedRun(sessionId(session), error),
    );
    void starting.then(async ({ epoch, session: driven }) => {
      if ((await epoch) !== undefined) onDriving(driven);
    });
    return deferredRun(sessionId(session), starting);
  };
  const fork = (session: string, into: string | undefined, use: (agent: Agent) => Run): Run => {
    if (into !== undefined) onFork(sessionId(session), into);
    return start(session, use);
  };
  return {
    name,
    run: (input, options) => start(options?.session ?? 'new', (agent) => agent.run(input, options)),
    resume: (session, options) => start(session, (agent) => agent.resume(session, options)),
    regenerate: (session, options) =>
      fork(session, options?.into, (agent) => agent.regenerate(session, options)),
    edit: (session, item, input, options) =>
      fork(session, options?.into, (agent) => agent.edit(session, item, input, options)),
    approve: async (session, call, options) =>
      (await route(session)).approve(session, call, options),
    deny: async (session, call, options) => (await route(session)).deny(session, call, options),
    pendingApprovals: async (session) => (await route(session)).pendingApprovals(session),
    provideToolResult: async (session, call, result) =>
      (await route(session)).provideToolResult(session, call, result),
    pendingToolCalls: async (session) => (await route(session)).pendingToolCalls(session),
    replay: async (session, options) => (await route(session)).replay(session, options),
  };
}

/** Returns a run that could not start. It writes nothing, so the session can continue later. */
function failedRun(session: SessionId, cause: unknown): Run {
  const message = cause instanceof Error ? cause.message : String(cause);
  const code = isMillraceError(cause) ? cause.code : 'failed';
  const result: RunResult = {
    ...{ session, reason: 'error', stop: { reason: 'error', cause: 'failed' }, cause },
    error: { code, message },
    ...{ text: '', items: [], toolCalls: [], pendingApprovals: [], pendingToolCalls: [] },
    ...{ usage: noUsage, usageByAgent: [] },
  };
  const none = deferredRun(session, Promise.reject(cause));
  none.result.catch(() => {});
  none.epoch.catch(() => {});
  return {
    ...none,
    events: ended,
    epoch: Promise.resolve(undefined),
    result: Promise.resolve(result),
  };
}

const ended: Run['events'] = { async *[Symbol.asyncIterator]() {} };

/** Creates an agent for sessions without a folder. It has no model and no tools. */
export function agentWithoutModel(log: Log, name: string): Agent {
  const text = 'this session has no folder. Start it in a terminal, with millrace in the folder';
  const error = new ProviderError('invalid_request', text, { provider: 'none' });
  const stop = { reason: 'error', cause: error.kind } as const;
  const provider: Provider = {
    ...{ id: 'none', model: 'none' },
    async *stream() {
      yield { deltas: [], end: { stop, usage: noUsage, error } };
    },
    complete: () => Promise.reject(error),
  };
  return createAgent({ provider, log, name });
}
