import { type Agent, AgentError, type Run } from '@millrace/agent';
import {
  approveCommand,
  denyCommand,
  readPendingApprovals,
  readPendingToolCalls,
  submitDecision,
  submitToolResult,
  toolOutputCommand,
} from '@millrace/agent/steps';
import {
  type Item,
  type OptionNames,
  type SessionId,
  sessionId,
  type TraceContext,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Client } from '@temporalio/client';
import type { AgentWorkflowOptions } from '../contract/agent-workflow.ts';
import { withIds } from '../ids/current-ids.ts';
import { assertKnownOptions } from '../known-options.ts';
import { inputItems, WorkflowRun } from './workflow-run.ts';

/** Options of `workflowAgent`. */
export interface WorkflowAgentOptions {
  /** The Temporal client that starts and signals the workflows. */
  readonly client: Client;
  /** The log that the workers write to. */
  readonly log: Log;
  /** Name of the agent on the workers. */
  readonly name: string;
  /** Task queue of the workers. */
  readonly taskQueue: string;
  /** Options of the workflows. Default: see `AgentWorkflowOptions`. */
  readonly options?: AgentWorkflowOptions | undefined;
  /** Returns the workflow id for a session. Default: the session id. */
  readonly workflowId?: ((session: SessionId) => string) | undefined;
  /**
   * Name of a custom workflow that accepts the input of `agentWorkflow`. Default: `agentWorkflow`.
   */
  readonly workflowType?: string | undefined;
}

/**
 * Creates an agent whose runs are workflows. Use it like any other agent, for example in `createServer({
 * agents: [{ type: 'loop', name, agent: workflowAgent(…) }] })`. The agent writes messages to the log, and
 * wakes the workflow with a signal.
 */
export function workflowAgent(given: WorkflowAgentOptions): Agent {
  assertKnownOptions('workflowAgent', given, optionNames);
  assertKnownOptions('workflowAgent: options', given.options ?? {}, workflowOptionNames);
  const { client, log, name, taskQueue, options, workflowId = (session) => session } = given;
  const { workflowType = 'agentWorkflow' } = given;
  const wake = async (session: SessionId, trace?: TraceContext): Promise<void> => {
    await withIds({ task: session, ...(trace && { trace }) }, () =>
      client.workflow.signalWithStart(workflowType, {
        ...{ workflowId: workflowId(session), taskQueue, signal: 'wake', signalArgs: [] },
        args: [{ agent: name, session, options }],
      }),
    );
  };
  const result = async (session: SessionId, until: AbortSignal): Promise<void> => {
    const handle = client.workflow.getHandle(workflowId(session));
    await client.withAbortSignal(until, () => handle.result());
  };
  const start = (session: SessionId, input: readonly Item[], own: StartOptions): Run =>
    new WorkflowRun({ log, session, input, wake, result, ...own });
  return {
    name,
    run: (input, { session = crypto.randomUUID(), ...own } = {}) =>
      start(sessionId(session), inputItems(input), own),
    resume: (session, own = {}) => start(sessionId(session), [], own),
    approve: async (session, call, own = {}) => {
      await submitDecision(log, session, { decision: approveCommand(call, own) });
      await wake(sessionId(session));
    },
    deny: async (session, call, own = {}) => {
      await submitDecision(log, session, { decision: denyCommand(call, own) });
      await wake(sessionId(session));
    },
    pendingApprovals: (session) => readPendingApprovals(log, session),
    provideToolResult: async (session, call, result) => {
      const sent = await submitToolResult(log, session, {
        command: toolOutputCommand(call, result),
      });
      await wake(sessionId(session));
      return sent;
    },
    pendingToolCalls: (session) => readPendingToolCalls(log, session),
    regenerate: () => {
      throw unsupported(name, 'regenerate an answer');
    },
    edit: () => {
      throw unsupported(name, 'edit a message');
    },
    replay: () => Promise.reject(unsupported(name, 'replay a session')),
  };
}

const optionNames: OptionNames<WorkflowAgentOptions> = {
  client: true,
  log: true,
  name: true,
  taskQueue: true,
  options: true,
  workflowId: true,
  workflowType: true,
};

const workflowOptionNames: OptionNames<AgentWorkflowOptions> = {
  turnsPerExecution: true,
  idleMs: true,
  heartbeatMs: true,
  requestTimeoutMs: true,
  callTimeoutMs: true,
  maxAttempts: true,
};

interface StartOptions {
  readonly signal?: AbortSignal | undefined;
  readonly trace?: TraceContext | undefined;
}

function unsupported(name: string, what: string): AgentError {
  const message = `Cannot ${what} with agent ${name}: its runs are workflows. Fork the session and run the fork`;
  return new AgentError('bad_option', message, { agent: name });
}
