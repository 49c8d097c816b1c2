import { type JsonObject, sessionId, type TraceContext } from '@millrace/core';
import type { AgentDirectory, FoundAgent } from '../agents/agent-directory.ts';
import type { AgentRows } from '../agents/agent-store.ts';
import type { AsyncRunner } from '../agents/handlers/async-runner.ts';
import type { SyncRunner } from '../agents/handlers/sync-runner.ts';
import { type LoopRunner, loopJournal } from '../agents/loops/loop-runner.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import type { Command, SendEvent, SendMessage } from '../contract/request-bodies.ts';
import { ServerError } from '../contract/server-error.ts';
import type { TasksService } from '../contract/service.ts';
import type { AgentInfo, TaskEvent } from '../contract/task.ts';
import type { EventCommand } from '../contract/task-journal.ts';
import { pastRequest } from '../inspection/past-request.ts';
import { traceJson } from '../journal/journal-state.ts';
import type { LocalJournal } from '../journal/local-journal.ts';
import { noSuch } from '../stores/row-access.ts';
import { makeTracker } from '../stores/row-services.ts';
import { readEvent } from '../stores/task-events.ts';
import { assertUsable } from '../stores/task-status.ts';
import type { KeptTask } from '../stores/task-store.ts';
import { forkTask } from './fork-task.ts';
import type { TaskStops } from './task-stops.ts';

interface TasksServiceOptions extends RunnerOptions {
  readonly agents: AgentRows;
  readonly directory: AgentDirectory;
  readonly sync: SyncRunner;
  readonly async: AsyncRunner;
  readonly loops: LoopRunner;
  readonly stops: TaskStops;
}

export function tasksService(options: TasksServiceOptions): TasksService {
  const { tasks, directory, sync, loops, works, ids, stops } = options;
  return {
    async create(agentId, body, { key, trace } = {}) {
      works.assertOpen();
      const { agent } = await directory.get(agentId);
      const name = key === undefined ? undefined : `task:${key}`;
      return (await created(options, { agentId, agent, trace }, body, name)).task;
    },
    async sendMessage(agentId, { content, ...body }, sent = {}) {
      const { key, trace } = sent;
      works.assertOpen();
      const { info, agent } = await directory.get(agentId);
      if (agent.type === 'async') throw wrongMethod(info, 'send a message', 'event/send');
      const kept = await taskFor(options, { agentId, agent, trace }, body, key);
      const taskId = kept.task.id;
      const isLoop = agent.type === 'loop';
      const known =
        key === undefined
          ? undefined
          : await (isLoop ? loops.known(kept, agent, key) : sync.known(taskId, key));
      if (known !== undefined) return known;
      assertUsable(taskId, kept.task.status ?? 'RUNNING');
      if (!isLoop) return sync.answer({ taskId, info, agent, content, ...sent });
      await assertRoom(options, taskId, agent);
      return loops.answer(kept, agent, content, sent);
    },
    async sendEvent(agentId, body, { key, trace } = {}) {
      works.assertOpen();
      const { info, agent } = await directory.get(agentId);
      if (agent.type === 'sync') throw wrongMethod(info, 'send an event', 'message/send');
      const kept = await namedTask(options, agentId, body);
      const name = key === undefined ? `server:${ids.execution()}` : `event:${key}`;
      return sent(options, { kept, agent, trace }, body.content ?? null, name);
    },
    async submit(taskId, command, { key, trace } = {}) {
      const kept = await tasks.get({ id: taskId });
      const { info, agent } = await directory.get(kept.agentId);
      if (agent.type !== 'loop')
        throw wrongMethod(info, 'give commands', 'message/send, event/send or task/interrupt');
      await assertRoom(options, taskId, agent);
      const name = key === undefined ? `server:${ids.execution()}` : `command:${key}`;
      const heeded = await meant(options, taskId, command);
      return loops.submit(kept, agent, heeded, name, traceJson(trace));
    },
    async fork(taskId, body, { trace } = {}) {
      works.assertOpen();
      const kept = await tasks.get({ id: taskId });
      const { info, agent } = await directory.get(kept.agentId);
      if (agent.type !== 'loop')
        throw wrongMethod(info, 'fork a task', 'message/send in a new task');
      return forkTask(options, kept, agent, body, trace);
    },
    async request(taskId, at) {
      const kept = await tasks.get({ id: taskId });
      return pastRequest(taskId, await directory.get(kept.agentId), at);
    },
    async get(ref) {
      const { task, agentId } = await tasks.get(ref);
      return { ...task, agents: await agentsOf(options, agentId) };
    },
    async list(query) {
      const { data, next } = await tasks.list(query);
      const known = new Map<string, AgentInfo[]>();
      for (const { agentId } of data)
        if (!known.has(agentId)) known.set(agentId, await agentsOf(options, agentId));
      const shown = data.map(({ task: { params, ...task }, agentId }) => ({
        ...task,
        agents: known.get(agentId) ?? [],
      }));
      return { data: shown, next };
    },
    async update(id, body) {
      await tasks.get({ id });
      return tasks.update(id, body);
    },
    delete: (id) => stops.delete(id),
    change: (id, change, reason) => stops.change(id, change, reason),
  };
}

/** For whom a task is, and what making it is part of. */
interface Addressed {
  readonly agentId: string;
  readonly agent: FoundAgent['agent'];
  readonly trace: TraceContext | undefined;
}

async function created(
  { tasks, rows, async }: TasksServiceOptions,
  { agentId, agent, trace }: Addressed,
  body: Parameters<TasksService['create']>[1],
  key?: string,
): Promise<KeptTask> {
  const kept = await tasks.create(agentId, body, key);
  const { task, origin } = kept;
  // By a key once more too, because whoever made it may have died before this.
  if (origin !== 'name' && task.status === 'RUNNING') {
    await makeTracker(rows, task.id, agentId);
    if (agent.type === 'async' && agent.onTaskCreate !== undefined)
      await async.created(task.id, trace);
  }
  if (origin !== 'name' || task.status !== 'INTERRUPTED') return kept;
  const resumed = await tasks.setStatus(task.id, () => 'RUNNING', null);
  if (agent.type === 'async') async.wake(task.id);
  return { ...kept, task: resumed };
}

type TaskName = Pick<SendMessage, 'task_id' | 'task_name'>;

/** The one that is named, or a new one. */
async function taskFor(
  options: TasksServiceOptions,
  addressed: Addressed,
  { task_id, task_name, task_params }: Omit<SendMessage, 'content'>,
  key: string | undefined,
): Promise<KeptTask> {
  if (task_id != null) return namedTask(options, addressed.agentId, { task_id });
  const body = { name: task_name, params: task_params };
  return created(options, addressed, body, key === undefined ? undefined : `message:${key}`);
}

async function namedTask(
  { tasks }: TasksServiceOptions,
  agentId: string,
  { task_id, task_name }: TaskName,
): Promise<KeptTask> {
  if ((task_id == null) === (task_name == null)) {
    const message = 'Cannot tell which task is meant: send either task_id or task_name';
    throw new ServerError('invalid', message);
  }
  const kept = await tasks.get(task_id != null ? { id: task_id } : { name: task_name ?? '' });
  // To this agent there is no such task.
  if (kept.agentId !== agentId) throw noSuch('task', kept.task.id);
  return kept;
}

interface SentTo {
  readonly kept: KeptTask;
  readonly agent: Exclude<FoundAgent['agent'], { readonly type: 'sync' }>;
  readonly trace: TraceContext | undefined;
}

async function sent(
  options: TasksServiceOptions,
  { kept, agent, trace }: SentTo,
  content: NonNullable<SendEvent['content']> | null,
  key: string,
): Promise<TaskEvent> {
  const { log, tasks, loops, async } = options;
  const { task, agentId } = kept;
  await assertRoom(options, task.id, agent);
  if (agent.type === 'loop') {
    if (content === null)
      throw new ServerError('invalid', 'Cannot send an event without content to an agent loop');
    // A loop reads it as what somebody says; that it came as an event is kept beside it.
    const event: JsonObject = { event: { ...content }, ...traceJson(trace) };
    const message = { type: 'message', content } as const;
    const { offset } = await loops.submit(kept, agent, message, key, event);
    return readEvent(log, agentId, { taskId: task.id, offset });
  }
  await tasks.setStatus(
    task.id,
    (now) => {
      assertUsable(task.id, now);
      return now === 'RUNNING' ? undefined : 'RUNNING';
    },
    null,
  );
  const event = { id: key, content: content as JsonObject | null, ...traceJson(trace) };
  const command = { type: 'event', ...event } satisfies EventCommand;
  const { offset } = await log.submit(sessionId(task.id), command, key);
  async.wake(task.id);
  return readEvent(log, agentId, { taskId: task.id, offset });
}

/** Who takes a message back names it as it was sent, or as the log has it. */
async function meant(
  { journals }: TasksServiceOptions,
  taskId: string,
  command: Command,
): Promise<Command> {
  if (command.type !== 'withdraw') return command;
  const { key } = command;
  const queued = await journals.use(taskId, (journal) => journal.commands(), loopJournal);
  const names = [key, `command:${key}`, `message:${key}`, `event:${key}`];
  const name = names.find((one) => queued.some((waiting) => waiting.key === one));
  return { ...command, key: name ?? key };
}

/** So much may wait for an agent that does not get to it. */
const maxWaiting = 1000;

async function assertRoom(
  { journals }: TasksServiceOptions,
  taskId: string,
  { type }: FoundAgent['agent'],
): Promise<void> {
  const count = async (journal: LocalJournal) => (await journal.commands()).length;
  const waiting = await journals.use(taskId, count, type === 'loop' ? loopJournal : {});
  if (waiting < maxWaiting) return;
  const message = `Cannot take more for task ${taskId}: ${waiting} events wait already. Try again when they are done`;
  throw new ServerError('rate_limited', message, { task: taskId }, { retryAfterMs: 1000 });
}

async function agentsOf({ agents }: TasksServiceOptions, agentId: string): Promise<AgentInfo[]> {
  const kept = await agents.find({ id: agentId });
  return kept === undefined ? [] : [kept.info];
}

/** For the methods that its kind does not have. */
function wrongMethod(info: AgentInfo, method: string, instead: string): ServerError {
  const message = `Cannot ${method} to agent ${info.name}: it is ${info.acp_type}. Use ${instead}`;
  return new ServerError('bad_state', message, { agent: info.id });
}
