import { type Agent, AgentError, type Run } from '@millrace/agent';
import { type Item, type SessionId, sessionId, type TraceContext } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Client } from '@temporalio/client';
import type { AgentWorkflowOptions } from '../contract/agent-workflow.ts';
import { withIds } from '../ids/current-ids.ts';
import { inputItems, WorkflowRun } from './workflow-run.ts';

export interface WorkflowAgentOptions {
  readonly client: Client;
  /** The one that the workers write to. */
  readonly log: Log;
  /** The agent, as the workers have it. */
  readonly name: string;
  readonly taskQueue: string;
  readonly options?: AgentWorkflowOptions | undefined;
  /** What a session's workflow is called; the session's id unless told. */
  readonly workflowId?: ((session: SessionId) => string) | undefined;
  /** Of a workflow of one's own that takes what `agentWorkflow` takes; that one unless told. */
  readonly workflowType?: string | undefined;
}

/**
 * An agent whose runs are workflows, for whoever takes an agent: `createServer({ agents: [{ type: 'loop',
 * name, agent: workflowAgent(…) }] })`. What is said goes to the log, and the workflow is told to look.
 */
export function workflowAgent(given: WorkflowAgentOptions): Agent {
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
  const start = (session: SessionId, input: readonly Item[], own: OwnOptions): Run =>
    new WorkflowRun({ log, session, input, wake, result, ...own });
  return {
    name,
    run: (input, { session = sessionId(crypto.randomUUID()), ...own } = {}) =>
      start(session, inputItems(input), own),
    resume: (session, own = {}) => start(session, [], own),
    regenerate: () => {
      throw unsupported(name, 'answer again');
    },
    edit: () => {
      throw unsupported(name, 'edit what was said');
    },
    replay: () => Promise.reject(unsupported(name, 'replay')),
  };
}

interface OwnOptions {
  readonly signal?: AbortSignal | undefined;
  readonly trace?: TraceContext | undefined;
}

function unsupported(name: string, what: string): AgentError {
  const message = `Cannot ${what} with agent ${name} here: its runs are workflows. Fork the session and run that`;
  return new AgentError('bad_option', message, { agent: name });
}
