import { experimentSessionName } from '@millrace/agent/evals';
import {
  checkForm,
  type FormQuestion,
  isId,
  isMillraceError,
  type JsonObject,
  readForm,
  sessionId,
  type TraceContext,
} from '@millrace/core';
import type { AgentDirectory, ResolvedAgent } from '../agents/agent-directory.ts';
import type { AgentStore } from '../agents/agent-store.ts';
import type { AsyncRunner } from '../agents/handlers/async-runner.ts';
import type { SyncRunner } from '../agents/handlers/sync-runner.ts';
import { commandKey, loopJournalOptions } from '../agents/loops/loop-commands.ts';
import type { LoopRunner } from '../agents/loops/loop-runner.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import { TaskQueues } from '../agents/task-queues.ts';
import type { Command, SendEvent, SendMessage } from '../contract/request-bodies.ts';
import type { LoopAgent } from '../contract/served-agent.ts';
import { ServerError } from '../contract/server-error.ts';
import type { MessageExtras, TasksService } from '../contract/service.ts';
import type { AgentInfo, TaskEvent, TaskResponse } from '../contract/task.ts';
import type { EventCommand } from '../contract/task-journal.ts';
import { pastRequest } from '../inspection/past-request.ts';
import { digestCacheFor } from '../inspection/task-digest.ts';
import { type CallDecision, traceJson } from '../journal/journal-state.ts';
import type { LocalJournal } from '../journal/local-journal.ts';
import { notFoundError } from '../stores/row-access.ts';
import { createTracker } from '../stores/row-services.ts';
import { readEvent } from '../stores/task-events.ts';
import { assertUsable, resumeIfInterrupted } from '../stores/task-status.ts';
import type { StoredTask } from '../stores/task-store.ts';
import { branchTask, copyTask, forkTask } from './fork-task.ts';
import { lateDecision } from './late-decision.ts';
import type { TaskStopper } from './task-stops.ts';

interface TasksServiceOptions extends RunnerOptions {
  readonly agents: AgentStore;
  readonly directory: AgentDirectory;
  readonly sync: SyncRunner;
  readonly async: AsyncRunner;
  readonly loops: LoopRunner;
  readonly stopper: TaskStopper;
}

export function tasksService(options: TasksServiceOptions): TasksService {
  const { tasks, directory, sync, loops, queues, ids, stopper } = options;
  const decisions = new TaskQueues(options.clock, options.graceMs);
  return {
    async create(agentId, body, { key, trace, owner } = {}) {
      queues.assertOpen();
      const { agent } = await directory.get(agentId);
      const name = key === undefined ? undefined : `task:${key}`;
      return (await createTask(options, { agentId, agent, trace, owner }, body, name)).task;
    },
    async sendMessage(agentId, { content, ...body }, sendEventTo = {}) {
      const { key, trace, owner } = sendEventTo;
      queues.assertOpen();
      const { info, agent } = await directory.get(agentId);
      if (agent.type === 'async') throw wrongMethod(info, 'send a message', 'event/send');
      const stored = await taskFor(options, { agentId, agent, trace, owner }, body, key);
      const taskId = stored.task.id;
      // The answers of a deleted task must not be returned, even for a known key.
      if (stored.task.status === 'DELETED') assertUsable(taskId, 'DELETED');
      const isLoop = agent.type === 'loop';
      const known =
        key === undefined
          ? undefined
          : await (isLoop ? loops.findByKey(stored, agent, key) : sync.findByKey(taskId, key));
      if (known !== undefined) return known;
      assertUsable(taskId, stored.task.status ?? 'RUNNING');
      if (!isLoop) return sync.answer({ taskId, info, agent, content, ...sendEventTo });
      await assertQueueCapacity(options, taskId, agent);
      return loops.answer(stored, agent, content, sendEventTo);
    },
    async sendEvent(agentId, body, { key, trace, extras } = {}) {
      queues.assertOpen();
      const { info, agent } = await directory.get(agentId);
      if (agent.type === 'sync') throw wrongMethod(info, 'send an event', 'message/send');
      const stored = await namedTask(options, agentId, body);
      const name = key === undefined ? `server:${ids.execution()}` : `event:${key}`;
      return sendEventTo(options, { stored, agent, trace, extras }, body.content ?? null, name);
    },
    async submit(taskId, command, { key, trace, extras } = {}) {
      const stored = await tasks.get({ id: taskId });
      const { info, agent } = await directory.get(stored.agentId);
      if (agent.type !== 'loop')
        throw wrongMethod(info, 'give commands', 'message/send, event/send or task/interrupt');
      assertModel(agent, 'model' in command ? command.model : undefined);
      await assertQueueCapacity(options, taskId, agent);
      const given = key === undefined ? `server:${ids.execution()}` : commandKey(key);
      const isOutput = command.type === 'tool_output';
      // The agent checks the output and refuses a second output for the same call. The log contains the
      // command when this call returns.
      const own = isOutput ? await provideToolResult(agent, taskId, command) : given;
      const name = command.type === 'retry' ? await retryKey(options, taskId) : own;
      const resolved = await resolveCommand(options, taskId, command);
      const submit = () =>
        loops.submit(stored, agent, resolved, { key: name, more: traceJson(trace), extras });
      if (resolved.type !== 'approve' && resolved.type !== 'deny') return submit();
      // Decisions about a task run one after the other. The second of two answers therefore sees the first
      // one. Another server can submit an answer at the same time, so the log is read again afterwards.
      return decisions.run(taskId, async () => {
        const through = await assertDecidable(options, taskId, resolved, name);
        const submitted = await submit();
        if (through !== undefined) await assertFirst(options, taskId, resolved, through);
        return submitted;
      });
    },
    async fork(taskId, body, { trace, copies } = {}) {
      queues.assertOpen();
      const stored = await tasks.get({ id: taskId });
      const { info, agent } = await directory.get(stored.agentId);
      if (agent.type !== 'loop')
        throw wrongMethod(info, 'fork a task', 'message/send in a new task');
      return forkTask(options, stored, agent, body, { trace, copies });
    },
    async branch(taskId, body, { trace, copies } = {}) {
      queues.assertOpen();
      const stored = await tasks.get({ id: taskId });
      const { info, agent } = await directory.get(stored.agentId);
      if (agent.type !== 'loop')
        throw wrongMethod(info, 'branch a task', 'message/send in a new task');
      assertModel(agent, body.model);
      return branchTask(options, stored, agent, body, { trace, copies });
    },
    async copy(taskId, copied, sent = {}) {
      queues.assertOpen();
      return copyTask(options, await tasks.get({ id: taskId }), copied, sent);
    },
    async request(taskId, at) {
      const stored = await tasks.get({ id: taskId });
      return pastRequest(taskId, await directory.get(stored.agentId), at);
    },
    async get(ref) {
      const stored = await tasks.find(ref);
      if (stored !== undefined)
        return { ...stored.task, agents: await agentsOf(options, stored.agentId) };
      const session = 'id' in ref ? await sessionWithoutTask(options, ref.id) : undefined;
      if (session === undefined) throw notFoundError('task', 'id' in ref ? ref.id : ref.name);
      return session;
    },
    async ownerOf(id) {
      return (await tasks.get({ id })).owner;
    },
    async list(query) {
      const { data, next } = await tasks.list(query);
      const known = new Map<string, AgentInfo[]>();
      for (const { agentId } of data)
        if (!known.has(agentId)) known.set(agentId, await agentsOf(options, agentId));
      const summaries = data.map(({ task: { params, ...task }, agentId }) => ({
        ...task,
        agents: known.get(agentId) ?? [],
      }));
      return { data: summaries, next };
    },
    async update(id, body) {
      await tasks.get({ id });
      return tasks.update(id, body);
    },
    delete: (id) => stopper.delete(id),
    change: (id, change, reason) => stopper.change(id, change, reason),
  };
}

/** The agent and the owner of a new task, and the trace of the request that creates it. */
interface TaskTarget {
  readonly agentId: string;
  readonly agent: ResolvedAgent['agent'];
  readonly trace: TraceContext | undefined;
  readonly owner: string | undefined;
}

async function createTask(
  { tasks, rows, async }: TasksServiceOptions,
  { agentId, agent, trace, owner }: TaskTarget,
  body: Parameters<TasksService['create']>[1],
  key?: string,
): Promise<StoredTask> {
  const stored = await tasks.create(agentId, body, { key, owner });
  const { task, origin } = stored;
  // This step also runs for a repeated key, because the process that created the task may have crashed before
  // this step.
  if (origin !== 'name' && task.status === 'RUNNING') {
    await createTracker(rows, task.id, agentId);
    if (agent.type === 'async' && agent.onTaskCreate !== undefined)
      await async.taskCreated(task.id, trace);
  }
  if (origin !== 'name' || task.status !== 'INTERRUPTED') return stored;
  // Another request may have closed the task meanwhile.
  const resumed = await tasks.setStatus(task.id, resumeIfInterrupted, null);
  if (agent.type === 'async' && resumed.status === 'RUNNING') async.wake(task.id);
  return { ...stored, task: resumed };
}

type TaskReference = Pick<SendMessage, 'task_id' | 'task_name'>;

/** Returns the task with the id or name in the request. If the request has neither, it creates a task. */
async function taskFor(
  options: TasksServiceOptions,
  target: TaskTarget,
  { task_id, task_name, task_params }: Omit<SendMessage, 'content'>,
  key: string | undefined,
): Promise<StoredTask> {
  if (task_id != null) return namedTask(options, target.agentId, { task_id });
  const body = { name: task_name, params: task_params };
  return createTask(options, target, body, key === undefined ? undefined : `message:${key}`);
}

async function namedTask(
  { tasks }: TasksServiceOptions,
  agentId: string,
  { task_id, task_name }: TaskReference,
): Promise<StoredTask> {
  if ((task_id == null) === (task_name == null)) {
    const message = 'Cannot select the task: send either task_id or task_name';
    throw new ServerError('invalid', message);
  }
  const stored = await tasks.get(task_id != null ? { id: task_id } : { name: task_name ?? '' });
  // The task belongs to a different agent, so the request gets the same error as for a missing task.
  if (stored.agentId !== agentId) throw notFoundError('task', stored.task.id);
  return stored;
}

interface EventTarget {
  readonly stored: StoredTask;
  readonly agent: Exclude<ResolvedAgent['agent'], { readonly type: 'sync' }>;
  readonly trace: TraceContext | undefined;
  readonly extras?: MessageExtras | undefined;
}

async function sendEventTo(
  options: TasksServiceOptions,
  { stored, agent, trace, extras }: EventTarget,
  content: NonNullable<SendEvent['content']> | null,
  key: string,
): Promise<TaskEvent> {
  const { log, tasks, loops, async } = options;
  const { task, agentId } = stored;
  await assertQueueCapacity(options, task.id, agent);
  if (agent.type === 'loop') {
    if (content === null)
      throw new ServerError('invalid', 'Cannot send an event without content to an agent loop');
    // The loop reads the event as a user message. The same command also stores the original event.
    const event: JsonObject = { event: { ...content }, ...traceJson(trace) };
    const message = { type: 'message', content } as const;
    const { offset } = await loops.submit(stored, agent, message, { key, more: event, extras });
    return readEvent(log, agentId, { taskId: task.id, offset });
  }
  await tasks.acceptInput(task.id, (now) => {
    assertUsable(task.id, now);
    return now === 'RUNNING' ? undefined : 'RUNNING';
  });
  const event = { id: key, content: content as JsonObject | null, ...traceJson(trace) };
  const command = { type: 'event', ...event } satisfies EventCommand;
  const { offset } = await log.submit(sessionId(task.id), command, key);
  async.wake(task.id);
  return readEvent(log, agentId, { taskId: task.id, offset });
}

/** Checks that the agent offers the model that a message names. */
function assertModel({ name, models = [] }: LoopAgent, model: string | null | undefined): void {
  if (model == null || models.includes(model)) return;
  const offered = models.length === 0 ? 'It offers none' : `It offers ${models.join(', ')}`;
  throw new ServerError(
    'invalid',
    `The agent ${name} does not offer the model ${model}. ${offered}`,
  );
}

/** Passes the output of a tool to the agent. Returns the key of the command on the log. */
async function provideToolResult(
  { agent }: LoopAgent,
  task: string,
  command: Extract<Command, { type: 'tool_output' }>,
): Promise<string> {
  const { tool_call_id: id, output, error, by } = command;
  const who = by == null ? {} : { by };
  const result = error === undefined ? { output: output ?? null, ...who } : { error, ...who };
  if ((output === undefined) === (error === undefined))
    throw new ServerError(
      'invalid',
      'Cannot use the output of a tool: send either output or error',
    );
  try {
    const { key } = await agent.provideToolResult(task, id, result);
    return key;
  } catch (cause) {
    throw outputRefused(task, cause);
  }
}

const outputCodes = {
  bad_input: 'invalid',
  no_such_call: 'bad_state',
  already_answered: 'conflict',
} as const;

function outputRefused(task: string, cause: unknown): unknown {
  if (!isMillraceError(cause) || !Object.hasOwn(outputCodes, cause.code)) return cause;
  const code = outputCodes[cause.code as keyof typeof outputCodes];
  return new ServerError(code, cause.message, { task }, { cause });
}

/**
 * Returns the command with the keys that the log uses. A withdrawal may contain the client's idempotency key.
 * The function replaces it by the key of the message on the log.
 */
async function resolveCommand(
  { journals }: TasksServiceOptions,
  taskId: string,
  command: Command,
): Promise<Command> {
  if (command.type !== 'withdraw') return command;
  const { key } = command;
  const queued = await journals.use(taskId, (journal) => journal.commands(), loopJournalOptions);
  const names = [key, `command:${key}`, `message:${key}`, `event:${key}`];
  const name = names.find((candidate) => queued.some((entry) => entry.key === candidate));
  return { ...command, key: name ?? key };
}

/**
 * Returns the key of the command that retries the last run. Each request gets the same key, so two clients
 * cause only one retry. Throws `bad_state` if the last run did not fail.
 */
async function retryKey({ log }: TasksServiceOptions, taskId: string): Promise<string> {
  const read = () => digestCacheFor(log).read(sessionId(taskId));
  let digest = await read();
  // One read covers only a limited number of records, so the loop reads until the digest is complete.
  for (let last = -1; !digest.isWhole && digest.state.through > last; ) {
    last = digest.state.through;
    digest = await read();
  }
  const { stop, stoppedAt, runSince } = digest.state;
  if (stop?.reason === 'error' && runSince === undefined) return `retry:${stoppedAt}`;
  const message = `Cannot retry the last run of task ${taskId}: it did not fail. Send a message`;
  throw new ServerError('bad_state', message, { task: taskId });
}

/**
 * Throws `conflict` if the call already has a decision, or if its run has ended. The error contains the
 * decision. A repeated command is allowed, because the log returns the first command for it. Otherwise, the function
 * returns the offset of the last record that it has read.
 */
async function assertDecidable(
  { journals }: TasksServiceOptions,
  taskId: string,
  answer: Extract<Command, { type: 'approve' | 'deny' }>,
  key: string,
): Promise<number | undefined> {
  const { tool_call_id: toolCallId } = answer;
  const read = (journal: LocalJournal) => journal.callStatus(toolCallId, key);
  const status = await journals.use(taskId, read, loopJournalOptions);
  const { repeated, isAsked, isSubmitted, call, decision, form } = status;
  // A call of the current run can be decided before the log contains the question.
  const isFree = isAsked || (call === 'open' && decision === undefined);
  if (repeated !== undefined) {
    assertSameAnswer(repeated, answer, taskId);
    return undefined;
  }
  if (isFree && !isSubmitted) {
    assertFormAnswer(form, answer);
    return status.through;
  }
  if (decision !== undefined || call !== undefined)
    throw lateDecision(taskId, toolCallId, decision ?? { decision: 'ended' });
  const message = `Cannot approve or deny call ${toolCallId} of task ${taskId}: it has no such call`;
  throw new ServerError('bad_state', message, { task: taskId, toolCallId });
}

/** Throws `conflict` if the log has a different answer to the same question before the submitted one. */
async function assertFirst(
  { journals }: TasksServiceOptions,
  taskId: string,
  answer: Extract<Command, { type: 'approve' | 'deny' }>,
  after: number,
): Promise<void> {
  const read = (journal: LocalJournal) => journal.firstDecision(answer.tool_call_id, after);
  const first = await journals.use(taskId, read, loopJournalOptions);
  if (first !== undefined) assertSameAnswer(first, answer, taskId);
}

/**
 * Throws `conflict` if a command repeats the key of a different answer. The log would return the earlier
 * command, and the client would assume that its own answer was accepted.
 */
function assertSameAnswer(
  repeated: CallDecision,
  { type, tool_call_id: toolCallId }: Extract<Command, { type: 'approve' | 'deny' }>,
  taskId: string,
): void {
  const isSame = repeated.decision === (type === 'approve' ? 'allow' : 'deny');
  if (repeated.toolCallId !== toolCallId) {
    const message = `Cannot use this idempotency key for call ${toolCallId}: it belongs to the answer to another call`;
    throw new ServerError('conflict', message, { task: taskId, toolCallId });
  }
  if (!isSame) throw lateDecision(taskId, toolCallId, repeated);
}

/** Checks the answer to a form, so that the client learns what is wrong while the question is still open. */
function assertFormAnswer(
  form: FormQuestion | undefined,
  answer: Extract<Command, { type: 'approve' | 'deny' }>,
): void {
  const fields = form === undefined ? undefined : readForm(form);
  if (answer.type === 'deny' || fields?.ok !== true) return;
  const checked = checkForm(fields.fields, answer.input);
  if (checked.ok) return;
  const problems = [...checked.problems].map(([field, problem]) => `${field}: ${problem}`);
  const message = `Cannot use this answer to the form. ${problems.join('. ')}`;
  throw new ServerError('invalid', message, { toolCallId: answer.tool_call_id });
}

/** Maximum number of queued commands per task. */
const maxQueuedCommands = 1000;

async function assertQueueCapacity(
  { journals }: TasksServiceOptions,
  taskId: string,
  { type }: ResolvedAgent['agent'],
): Promise<void> {
  const count = async (journal: LocalJournal) => (await journal.commands()).length;
  const queuedCount = await journals.use(taskId, count, type === 'loop' ? loopJournalOptions : {});
  if (queuedCount < maxQueuedCommands) return;
  const message = `Cannot queue more for task ${taskId}: ${queuedCount} events already wait. Try again when they are done`;
  throw new ServerError('rate_limited', message, { task: taskId }, { retryAfterMs: 1000 });
}

async function agentsOf({ agents }: TasksServiceOptions, agentId: string): Promise<AgentInfo[]> {
  const stored = await agents.find({ id: agentId });
  return stored === undefined ? [] : [stored.info];
}

/**
 * Returns a session without a row, for example of a sub-agent, as a task without agents. Clients can read it
 * but not change it. Returns undefined if the id has a row, even a deleted row, or if the session does not
 * exist. Only callers with full access get it, because it has no owner and no agent.
 */
async function sessionWithoutTask(
  { log, rows }: TasksServiceOptions,
  id: string,
): Promise<TaskResponse | undefined> {
  if (!isId(id) || (await rows.get('tasks', id)) !== undefined) return undefined;
  const info = await log.info(sessionId(id));
  if (info === undefined) return undefined;
  const [created_at, updated_at] = [info.createdAt, info.changedAt].map(isoTime);
  const title = experimentSessionName(id);
  return {
    ...{ id, name: null, status: 'RUNNING', status_reason: null, params: null, agents: [] },
    ...{ created_at: created_at ?? null, updated_at: updated_at ?? null },
    ...{ cleaned_at: null, task_metadata: title === undefined ? null : { title } },
  };
}

const isoTime = (time: number) => new Date(time).toISOString();

/** Returns the error for a method that this type of agent does not support. */
function wrongMethod(info: AgentInfo, method: string, instead: string): ServerError {
  const message = `Cannot ${method} to agent ${info.name}: it is ${info.acp_type}. Use ${instead}`;
  return new ServerError('bad_state', message, { agent: info.id });
}
