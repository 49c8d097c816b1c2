import { ServerError } from '../../contract/server-error.ts';
import type {
  AgentService,
  CopyLimit,
  EventService,
  FileService,
  Grant,
  MessageService,
  SpanService,
  StateService,
  TaskService,
  TrackerService,
} from '../../contract/service.ts';
import type { SpanInfo } from '../../contract/task.ts';
import { isFound, notFoundError } from '../../stores/row-access.ts';
import { ScopeRules } from './scope-rules.ts';
import { scopedTasks } from './scoped-tasks.ts';

/** Wraps the task service with access checks. A caller can use only the resources that its grant allows. */
export function scopedService(
  service: TaskService,
  grant: Grant,
  copies: CopyLimit | undefined,
): TaskService {
  const { scope } = grant;
  if (scope.kind === 'all') return { ...service, agents: lastingAgents(service.agents, grant) };
  const rules = new ScopeRules(service, scope);
  return {
    agents: scopedAgents(service, rules, grant),
    tasks: scopedTasks(service.tasks, rules, copies),
    messages: scopedMessages(service.messages, rules),
    events: scopedEvents(service.events, rules),
    states: scopedStates(service.states, rules),
    spans: scopedSpans(service.spans, rules),
    trackers: scopedTrackers(service.trackers, rules),
    files: scopedFiles(service.files, rules),
  };
}

/**
 * Returns the agent service. It refuses to register agents for a grant that expires, because a registration
 * creates a key that does not expire. The key of an agent belongs to the token that registers the agent.
 */
function lastingAgents(
  agents: AgentService,
  grant: Grant & { readonly id?: string },
): AgentService {
  // An issued token has an id. An operator has none.
  const { expiresAt, id: issuerId } = grant;
  if (expiresAt === null)
    return { ...agents, register: (body) => agents.register(body, { issuerId }) };
  const message =
    'Cannot register an agent with a token that expires: the key of the agent would outlast it. Use an operator token';
  const register = async () => Promise.reject(new ServerError('forbidden', message));
  return { ...agents, register };
}

function scopedAgents(
  { agents }: TaskService,
  rules: ScopeRules,
  { isAgentKey, id: keyId }: Grant & { readonly id?: string },
): AgentService {
  return {
    async list(query) {
      const { scope } = rules;
      if (query.taskId !== undefined) await rules.assertTask(query.taskId);
      if (scope.kind === 'user') return agents.list(query);
      if (scope.kind === 'task') return agents.list({ ...query, taskId: scope.taskId });
      return { data: [await agents.get({ id: scope.agentId })], next: null };
    },
    async get(ref) {
      const reference = 'id' in ref ? ref.id : ref.name;
      return rules.findOwned('agent', reference, agents.get(ref), ({ id }) => rules.hasAgent(id));
    },
    delete: async () => Promise.reject(rules.forbid('delete an agent')),
    registerBuild: async () => Promise.reject(rules.forbid('register an agent')),
    /**
     * Registers an agent. With an agent key, an agent can register only itself. Clients of the agent cannot
     * register it.
     */
    async register(body) {
      const { scope } = rules;
      if (!isAgentKey || keyId === undefined) throw rules.forbid('register an agent');
      const known = await agents.get({ name: body.name }).catch(() => undefined);
      if (scope.kind !== 'agent' || known?.id !== scope.agentId)
        throw rules.forbid('register another agent');
      return agents.register(body, { keyId });
    },
  };
}

function scopedEvents(events: EventService, rules: ScopeRules): EventService {
  return {
    get: (id) => rules.findOwnedByTask('event', id, events.get(id)),
    async list(query) {
      await rules.assertTask(query.taskId);
      return events.list(query);
    },
  };
}

function scopedStates(states: StateService, rules: ScopeRules): StateService {
  const findOwn = (id: string) => rules.findOwnedByTask('state', id, states.get(id));
  return {
    async create(body) {
      await rules.assertTask(body.task_id);
      await rules.agent(body.agent_id);
      return states.create(body);
    },
    get: findOwn,
    list: async (query) => states.list(await rules.restrict(query)),
    async update(id, body) {
      await findOwn(id);
      return states.update(id, body);
    },
    async delete(id) {
      await findOwn(id);
      return states.delete(id);
    },
  };
}

function scopedTrackers(trackers: TrackerService, rules: ScopeRules): TrackerService {
  const findOwn = (id: string) => rules.findOwnedByTask('tracker', id, trackers.get(id));
  return {
    get: findOwn,
    list: async (query) => trackers.list(await rules.restrict(query)),
    async update(id, body) {
      await findOwn(id);
      return trackers.update(id, body);
    },
  };
}

function scopedFiles(files: FileService, rules: ScopeRules): FileService {
  return {
    async upload(taskId, file) {
      await rules.assertTask(taskId);
      return files.upload(taskId, file);
    },
    async get(taskId, fileId) {
      await rules.assertTask(taskId);
      return files.get(taskId, fileId);
    },
  };
}

function scopedMessages(messages: MessageService, rules: ScopeRules): MessageService {
  const findOwn = (id: string) => rules.findOwnedByTask('message', id, messages.get(id));
  return {
    async list(query) {
      await rules.assertTask(query.taskId);
      return messages.list(query);
    },
    async page(query) {
      await rules.assertTask(query.taskId);
      return messages.page(query);
    },
    get: findOwn,
    async create(body) {
      await rules.assertTask(body.task_id);
      await rules.assertTaskAcceptsInput(body.task_id);
      return messages.create(body);
    },
    async createMany(body) {
      await rules.assertTask(body.task_id);
      await rules.assertTaskAcceptsInput(body.task_id);
      return messages.createMany(body);
    },
    async update(id, body) {
      await rules.assertTask(body.task_id);
      await rules.assertTaskAcceptsInput(body.task_id);
      const { task_id } = await findOwn(id);
      if (task_id !== body.task_id) throw notFoundError('message', id);
      return messages.update(id, body);
    },
    async updateMany(body) {
      await rules.assertTask(body.task_id);
      await rules.assertTaskAcceptsInput(body.task_id);
      // The id of a message starts with the id of its task, and the service finds messages of this task only.
      const foreign = Object.keys(body.updates).find((id) => !id.startsWith(`${body.task_id}.`));
      if (foreign !== undefined) throw notFoundError('message', foreign);
      return messages.updateMany(body);
    },
  };
}

/**
 * Returns the span service for a scope. An agent can access a span without a task only if it created the
 * span. Clients choose the ids of spans, so an id proves nothing.
 */
function scopedSpans(spans: SpanService, rules: ScopeRules): SpanService {
  const owner = rules.scope.kind === 'agent' ? rules.scope.agentId : undefined;
  const isOwn = async ({ id, task_id }: Pick<SpanInfo, 'id' | 'task_id'>) => {
    if (task_id !== null) return rules.hasTask(task_id);
    return owner !== undefined && (await spans.ownerOf(id)) === owner;
  };
  const findOwn = (id: string) => rules.findOwned('span', id, spans.get(id), isOwn);
  return {
    async create(body) {
      if (body.task_id != null) await rules.assertTask(body.task_id);
      else if (rules.scope.kind !== 'agent') throw rules.forbid('create a span without a task');
      return spans.create(body, owner).catch(async (error: unknown) => {
        const isTaken = error instanceof ServerError && error.code === 'conflict';
        // The error names the version of the stored span. Only callers who can read the span may get it.
        if (!isTaken || body.id == null || (await isFound(findOwn(body.id)))) throw error;
        throw takenSpanId();
      });
    },
    ownerOf: spans.ownerOf,
    get: findOwn,
    async list(query) {
      const { scope } = rules;
      if (query.taskId !== undefined) await rules.assertTask(query.taskId);
      if (scope.kind === 'task') {
        await rules.assertTask(scope.taskId);
        return spans.list({ ...query, taskId: scope.taskId });
      }
      if (query.taskId === undefined) throw rules.forbid('list spans without a task');
      return spans.list(query);
    },
    async update(id, body) {
      await findOwn(id);
      if (body.task_id != null) await rules.assertTask(body.task_id);
      return spans.update(id, body);
    },
  };
}

function takenSpanId(): ServerError {
  const message = 'Cannot use this id: another span has it. Choose another id, or leave it out';
  return new ServerError('conflict', message);
}
