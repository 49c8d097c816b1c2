import { AgentSession, listenTo } from '@millrace/temporal/workflow';
import { type Agent, AgentsError, type RunConfig, Runner, type RunResult } from '@openai/agents';
import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
} from '@temporalio/workflow';
import { assertKnownOptions } from '../../known-options.ts';
import { callIdOf } from '../../updates/message-content.ts';
import { loggingAgentName } from '../contract/agents-activities.ts';
import type { ActivityTimeouts } from './activities.ts';
import { currentTask, TaskRun, workflowModels } from './task-run.ts';

// biome-ignore lint/suspicious/noExplicitAny: agents of any context and output, as the SDK's own Runner takes them
type AnyAgent = Agent<any, any>;

/** Options of `runAgent`. */
export interface RunAgentOptions extends ActivityTimeouts {
  /** Session id, which is the task id on a server. Default: the workflow id. */
  readonly session?: string | undefined;
  /** The message. Default: the message that is already on the log. */
  readonly input?: string | undefined;
  /** Context for the SDK's run. Default: none. */
  readonly context?: unknown;
  /** Maximum turns of the SDK's run. Default: the default of the SDK. */
  readonly maxTurns?: number | undefined;
  /**
   * Configuration of the SDK's runner. `runAgent` sets models and tracing. Default: the defaults of the
   * SDK.
   */
  readonly config?: Omit<Partial<RunConfig>, 'modelProvider' | 'tracingDisabled'> | undefined;
}

/**
 * Runs an agent of the SDK in a workflow. Activities request the model's answers and stream them to the log.
 * Activities also write tool results and hand-offs to the log. The run answers all messages, including
 * messages that arrive by signal during the run. Returns undefined if there was no message, or if the run was
 * interrupted.
 */
export async function runAgent<A extends AnyAgent>(
  agent: A,
  options: RunAgentOptions = {},
): Promise<RunResult<unknown, A> | undefined> {
  assertKnownOptions('runAgent', options, {
    ...{ session: true, input: true, context: true, maxTurns: true, config: true },
    ...{ heartbeatMs: true, timeoutMs: true, maxAttempts: true },
  });
  const { session, input, heartbeatMs, timeoutMs } = options;
  const times = { heartbeatMs, requestTimeoutMs: timeoutMs };
  const agentSession = new AgentSession({
    agent: loggingAgentName,
    session,
    isStarting: true,
    ...times,
  });
  const stopListening = listenTo(agentSession);
  try {
    if (input !== undefined) await agentSession.sendMessage(input);
    return await answerAll(agentSession, agent, options);
  } finally {
    stopListening();
  }
}

async function answerAll<A extends AnyAgent>(
  agentSession: AgentSession,
  agent: A,
  options: RunAgentOptions,
): Promise<RunResult<unknown, A> | undefined> {
  let result: RunResult<unknown, A> | undefined;
  for (let next: AnyAgent = agent; ; next = result?.lastAgent ?? next) {
    const task = new TaskRun(agentSession, options);
    const plan = await task.advance();
    // An earlier execution of the workflow started this run and did not finish it. This execution does not
    // know the calls of that run.
    if (plan.do === 'tool_calls')
      await endOpenRun(agentSession, 'The workflow that ran it is gone');
    if (plan.do === 'request') result = await runOnce(agentSession, task, next, options);
    await condition(allHandlersFinished);
    const isOver = plan.do === 'idle' || plan.do === 'done' || task.isStopped;
    if (isOver && !agentSession.hasNewCommands) return task.isStopped ? undefined : result;
    if (task.plan?.do === 'done' && !task.plan.hasMoreInput && !agentSession.hasNewCommands)
      return result;
  }
}

/** Runs the SDK once. At the end, the log has no open run. */
async function runOnce<A extends AnyAgent>(
  agentSession: AgentSession,
  task: TaskRun,
  agent: AnyAgent,
  options: RunAgentOptions,
): Promise<RunResult<unknown, A> | undefined> {
  try {
    const result = await runSdk<A>(task, agent, options);
    await task.settled();
    // The run ended with a tool result or waits for an approval, so there is no further model
    // request.
    if (task.plan?.do === 'tool_calls') await endOpenRun(agentSession, 'The run ended with a tool');
    return result;
  } catch (error) {
    const { consideredCancelled: isCancelled } = CancellationScope.current();
    const why = isCancelled ? 'The workflow was cancelled' : 'The run failed';
    await CancellationScope.nonCancellable(() => endOpenRun(agentSession, why));
    if (isCancelled) throw isCancellation(error) ? error : new CancelledFailure(why);
    if (task.isStopped) return undefined;
    throw toFailure(error);
  }
}

async function runSdk<A extends AnyAgent>(
  task: TaskRun,
  agent: AnyAgent,
  options: RunAgentOptions,
): Promise<RunResult<unknown, A>> {
  const { context, maxTurns, config } = options;
  const input = await task.history();
  const models = { modelProvider: workflowModels(task), tracingDisabled: true };
  const runner = new Runner({ ...config, ...models });
  runner.on('agent_tool_start', (_context, _agent, _tool, { toolCall }) => {
    task.toolStarted(callIdOf(toolCall));
  });
  runner.on('agent_tool_end', (_context, _agent, { name }, output, { toolCall }) => {
    task.toolEnded({ callId: callIdOf(toolCall), name }, output);
  });
  runner.on('agent_handoff', (_context, _from, { name }) => {
    task.handoffDone(name);
  });
  const own = { context, ...(maxTurns !== undefined && { maxTurns }) };
  const result = await currentTask.run(task, () => runner.run(agent, input, own));
  return result as unknown as RunResult<unknown, A>;
}

/** Ends an open run on the log, either normally or by an interrupt. */
async function endOpenRun(agentSession: AgentSession, reason: string): Promise<void> {
  const plan = await agentSession.advance({ ifAsked: true });
  if (plan.do === 'done' || plan.do === 'idle') return;
  await agentSession.interrupt(reason);
  await agentSession.advance({ ifAsked: true });
}

/**
 * Converts an SDK error to a failure of the workflow. Without this, Temporal would retry the workflow task
 * forever.
 */
function toFailure(error: unknown): unknown {
  if (!(error instanceof AgentsError)) return error;
  return ApplicationFailure.create({
    ...{ message: error.message, type: error.constructor.name, nonRetryable: true, cause: error },
  });
}
