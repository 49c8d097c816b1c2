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
import { callIdOf } from '../../updates/message-content.ts';
import { bookkeeper } from '../contract/agents-activities.ts';
import type { ActivityTimes } from './activities.ts';
import { currentTask, TaskRun, workflowModels } from './task-run.ts';

// biome-ignore lint/suspicious/noExplicitAny: agents of any context and output, as the SDK's own Runner takes them
type AnyAgent = Agent<any, any>;

export interface RunAgentOptions extends ActivityTimes {
  /** The session, which a server calls its task; the workflow's id unless told. */
  readonly session?: string | undefined;
  /** What is said. Nothing, where it waits on the log already. */
  readonly input?: string | undefined;
  /** For the SDK's run. */
  readonly context?: unknown;
  readonly maxTurns?: number | undefined;
  /** For the SDK's runner; models and tracing are as a workflow needs them. */
  readonly config?: Omit<Partial<RunConfig>, 'modelProvider' | 'tracingDisabled'> | undefined;
}

/**
 * Runs an agent of the SDK in a workflow: its models answer by activities, which stream to the log, and
 * what happens between two answers is told there too. It answers all that was said, also meanwhile by
 * signals. Undefined where nothing was, and where it was interrupted.
 */
export async function runAgent<A extends AnyAgent>(
  agent: A,
  options: RunAgentOptions = {},
): Promise<RunResult<unknown, A> | undefined> {
  const { session, input, heartbeatMs, timeoutMs } = options;
  const times = { heartbeatMs, requestTimeoutMs: timeoutMs };
  const room = new AgentSession({ agent: bookkeeper, session, isStarting: true, ...times });
  const leave = listenTo(room);
  try {
    if (input !== undefined) await room.say(input);
    return await answerAll(room, agent, options);
  } finally {
    leave();
  }
}

async function answerAll<A extends AnyAgent>(
  room: AgentSession,
  agent: A,
  options: RunAgentOptions,
): Promise<RunResult<unknown, A> | undefined> {
  let result: RunResult<unknown, A> | undefined;
  for (let next: AnyAgent = agent; ; next = result?.lastAgent ?? next) {
    const task = new TaskRun(room, options);
    const plan = await task.advance();
    // Of a run that somebody else left: nobody knows its calls any more.
    if (plan.do === 'calls') await stop(room, 'The workflow that ran it is gone');
    if (plan.do === 'request') result = await attempt(room, task, next, options);
    await condition(allHandlersFinished);
    const isOver = plan.do === 'idle' || plan.do === 'done' || task.isStopped;
    if (isOver && !room.hasNews) return task.isStopped ? undefined : result;
    if (task.plan?.do === 'done' && !task.plan.isAsked && !room.hasNews) return result;
  }
}

/** One run of the SDK, which leaves no run open on the log. */
async function attempt<A extends AnyAgent>(
  room: AgentSession,
  task: TaskRun,
  agent: AnyAgent,
  options: RunAgentOptions,
): Promise<RunResult<unknown, A> | undefined> {
  try {
    const result = await run<A>(task, agent, options);
    await task.settled();
    // A tool had the last word, or somebody has to approve it: the model is not asked again.
    if (task.plan?.do === 'calls') await stop(room, 'The run ended with a tool');
    return result;
  } catch (error) {
    const { consideredCancelled: isCancelled } = CancellationScope.current();
    const why = isCancelled ? 'The workflow was cancelled' : 'The run failed';
    await CancellationScope.nonCancellable(() => stop(room, why));
    if (isCancelled) throw isCancellation(error) ? error : new CancelledFailure(why);
    if (task.isStopped) return undefined;
    throw failureFor(error);
  }
}

async function run<A extends AnyAgent>(
  task: TaskRun,
  agent: AnyAgent,
  options: RunAgentOptions,
): Promise<RunResult<unknown, A>> {
  const { context, maxTurns, config } = options;
  const input = await task.history();
  const models = { modelProvider: workflowModels(task), tracingDisabled: true };
  const runner = new Runner({ ...config, ...models });
  runner.on('agent_tool_start', (_context, _agent, _tool, { toolCall }) => {
    task.began(callIdOf(toolCall));
  });
  runner.on('agent_tool_end', (_context, _agent, { name }, output, { toolCall }) => {
    task.ended({ callId: callIdOf(toolCall), name }, output);
  });
  runner.on('agent_handoff', (_context, _from, { name }) => {
    task.handedOver(name);
  });
  const own = { context, ...(maxTurns !== undefined && { maxTurns }) };
  const result = await currentTask.run(task, () => runner.run(agent, input, own));
  return result as unknown as RunResult<unknown, A>;
}

/** Ends what is open on the log: by itself, as after an error, or as interrupted. */
async function stop(room: AgentSession, reason: string): Promise<void> {
  const plan = await room.advance({ ifAsked: true });
  if (plan.do === 'done' || plan.do === 'idle') return;
  await room.interrupt(reason);
  await room.advance({ ifAsked: true });
}

/** What the SDK throws ends the workflow; by itself it would only be tried again, and again. */
function failureFor(error: unknown): unknown {
  if (!(error instanceof AgentsError)) return error;
  return ApplicationFailure.create({
    ...{ message: error.message, type: error.constructor.name, nonRetryable: true, cause: error },
  });
}
