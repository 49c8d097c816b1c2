import type { Content } from '../../contract/content.ts';
import type { TaskMessage, Update } from '../../contract/message.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { Answer, ListPage, Ref, TaskService } from '../../contract/service.ts';
import type { AgentInfo, SpanInfo, TaskResponse, TaskState } from '../../contract/task.ts';

const time = '2026-01-01T00:00:00.000Z';

const notFound = async (): Promise<never> => {
  throw new ServerError('not_found', 'Cannot find this');
};

const singlePage = <T>(data: readonly T[]): ListPage<T> => ({ data, next: null });

function fakeAgent(name: string): AgentInfo {
  return {
    id: `agent-${name}`,
    name,
    description: '',
    acp_type: 'sync',
    status: 'Ready',
    status_reason: null,
    created_at: time,
    updated_at: time,
    registered_at: null,
    registration_metadata: null,
    agent_input_type: null,
    production_deployment_id: null,
  };
}

export interface FakeServiceOptions {
  readonly agents?: readonly string[];
  /** Creates the updates of an answer. Default: an answer that repeats the content. */
  readonly answer?: (content: Content, taskId: string) => AsyncIterable<Update>;
}

/**
 * Returns a task service that stores its data in maps and has scripted answers. It needs no log and no
 * rows.
 */
export function fakeService({
  agents: names = ['echo'],
  answer,
}: FakeServiceOptions = {}): TaskService {
  const agents = names.map(fakeAgent);
  const tasks = new Map<string, TaskResponse>();
  const messages: TaskMessage[] = [];
  const states = new Map<string, TaskState>();
  const spans = new Map<string, SpanInfo>();
  const find = <T>(map: ReadonlyMap<string, T>, id: string): T => {
    const found = map.get(id);
    if (found === undefined) throw new ServerError('not_found', `Cannot find ${id}`);
    return found;
  };
  const agentOf = (ref: Ref): AgentInfo => {
    const found = agents.find((agent) =>
      'id' in ref ? agent.id === ref.id : agent.name === ref.name,
    );
    if (found === undefined) throw new ServerError('not_found', 'Cannot find this agent');
    return found;
  };
  const taskOf = (ref: Ref): TaskResponse => {
    if ('id' in ref) return find(tasks, ref.id);
    const found = tasks.values().find(({ name }) => name === ref.name);
    if (found === undefined) throw new ServerError('not_found', 'Cannot find this task');
    return found;
  };
  const makeTask = (agentId: string, name: string | null): TaskResponse => {
    const known = name === null ? undefined : tasks.values().find((task) => task.name === name);
    if (known !== undefined) return known;
    const task: TaskResponse = {
      ...{ id: `task-${tasks.size + 1}`, name, status: 'RUNNING', status_reason: null },
      ...{ created_at: time, updated_at: time, cleaned_at: null, params: null },
      ...{ task_metadata: null, agents: [agentOf({ id: agentId })] },
    };
    tasks.set(task.id, task);
    return task;
  };
  const addMessage = (taskId: string, content: Content): TaskMessage => {
    const message: TaskMessage = {
      ...{ id: `${taskId}.0.0.m${messages.length + 1}`, task_id: taskId, content },
      ...{ streaming_status: 'DONE', created_at: time, updated_at: time },
    };
    messages.push(message);
    return message;
  };
  const messageOf = (id: string): TaskMessage => {
    const found = messages.find((message) => message.id === id);
    if (found === undefined) throw new ServerError('not_found', `Cannot find message ${id}`);
    return found;
  };
  const echo = async function* (content: Content, taskId: string): AsyncIterable<Update> {
    const parent_task_message = addMessage(taskId, { ...content, author: 'agent' });
    yield { type: 'full', index: 0, parent_task_message, content: parent_task_message.content };
  };
  return {
    agents: {
      list: async () => singlePage(agents),
      get: async (ref) => agentOf(ref),
      delete: notFound,
      registerBuild: notFound,
      register: notFound,
    },
    tasks: {
      create: async (agentId, { name }) => makeTask(agentId, name ?? null),
      async sendMessage(agentId, { content, task_id, task_name }): Promise<Answer> {
        const task =
          task_id == null ? makeTask(agentId, task_name ?? null) : taskOf({ id: task_id });
        if (task.status === 'CANCELED')
          throw new ServerError('bad_state', `Cannot send to task ${task.id}: it is CANCELED`);
        addMessage(task.id, content);
        const updates = () => (answer ?? echo)(content, task.id);
        return {
          taskId: task.id,
          updates,
          async messages() {
            for await (const update of updates()) if (update.parent_task_message === null) break;
            return messages.filter((message) => message.content.author === 'agent');
          },
        };
      },
      sendEvent: notFound,
      submit: notFound,
      fork: notFound,
      branch: notFound,
      copy: notFound,
      request: notFound,
      get: async (ref) => taskOf(ref),
      ownerOf: async () => undefined,
      list: async () => singlePage([...tasks.values()]),
      update: async (id) => taskOf({ id }),
      async delete(id) {
        tasks.delete(taskOf({ id }).id);
        return { id, message: 'gone' };
      },
      async change(id, change) {
        const status = change === 'cancel' ? 'CANCELED' : 'INTERRUPTED';
        const task: TaskResponse = { ...taskOf({ id }), status };
        tasks.set(id, task);
        return task;
      },
    },
    messages: {
      list: async ({ taskId }) => singlePage(messages.filter(({ task_id }) => task_id === taskId)),
      page: async ({ taskId }) => singlePage(messages.filter(({ task_id }) => task_id === taskId)),
      get: async (id) => messageOf(id),
      create: async ({ task_id, content }) => addMessage(taskOf({ id: task_id }).id, content),
      createMany: async ({ task_id, contents }) =>
        contents.map((content) => addMessage(taskOf({ id: task_id }).id, content)),
      update: async (id) => messageOf(id),
      updateMany: async ({ updates }) => Object.keys(updates).map(messageOf),
    },
    events: { get: notFound, list: async () => [] },
    states: {
      async create({ task_id, agent_id, state }) {
        const id = `state-${states.size + 1}`;
        const created = { id, task_id, agent_id, state, version: 1, created_at: time };
        states.set(id, { ...created, updated_at: null });
        return find(states, id);
      },
      get: async (id) => find(states, id),
      list: async ({ taskId }) =>
        singlePage(
          [...states.values()].filter(({ task_id }) => taskId === undefined || task_id === taskId),
        ),
      update: async (id) => find(states, id),
      delete: async (id) => find(states, id),
    },
    spans: {
      async create(body) {
        const id = body.id ?? `span-${spans.size + 1}`;
        const empty = { end_time: null, task_id: null, parent_id: null, input: null, output: null };
        const { trace_id, name, start_time } = body;
        const span = { id, trace_id, name, start_time, ...empty, data: null };
        spans.set(id, { ...span, task_id: body.task_id ?? null });
        return find(spans, id);
      },
      ownerOf: async () => undefined,
      get: async (id) => find(spans, id),
      list: async () => singlePage([...spans.values()]),
      update: async (id) => find(spans, id),
    },
    trackers: { get: notFound, list: async () => singlePage([]), update: notFound },
    files: { upload: notFound, get: notFound },
  };
}
