import type {
  AgentService,
  EventService,
  Scope,
  StateService,
  TaskService,
  TrackerService,
} from '../../contract/service.ts';
import { ScopeRules } from './scope-rules.ts';
import { scopedMessages } from './scoped-messages.ts';
import { scopedSpans } from './scoped-spans.ts';
import { scopedTasks } from './scoped-tasks.ts';

/** The service as far as a caller may use it: what belongs to one agent, or to one task. */
export function scopedService(service: TaskService, scope: Scope): TaskService {
  if (scope.kind === 'all') return service;
  const rules = new ScopeRules(service, scope);
  return {
    agents: scopedAgents(service, rules),
    tasks: scopedTasks(service.tasks, rules),
    messages: scopedMessages(service.messages, rules),
    events: scopedEvents(service.events, rules),
    states: scopedStates(service.states, rules),
    spans: scopedSpans(service.spans, rules),
    trackers: scopedTrackers(service.trackers, rules),
  };
}

function scopedAgents({ agents }: TaskService, rules: ScopeRules): AgentService {
  return {
    async list(query) {
      const { scope } = rules;
      if (query.taskId !== undefined) await rules.task(query.taskId);
      if (scope.kind === 'task') return agents.list({ ...query, taskId: scope.taskId });
      return { data: [await agents.get({ id: scope.agentId })], next: null };
    },
    async get(ref) {
      const asked = 'id' in ref ? ref.id : ref.name;
      return rules.own('agent', asked, agents.get(ref), ({ id }) => rules.hasAgent(id));
    },
    delete: async () => Promise.reject(rules.refuse('delete an agent')),
    registerBuild: async () => Promise.reject(rules.refuse('register an agent')),
    /** An agent may register itself again, and nobody else. */
    async register(body) {
      const known = await agents.get({ name: body.name }).catch(() => undefined);
      const { scope } = rules;
      if (scope.kind !== 'agent' || known?.id !== scope.agentId)
        throw rules.refuse('register another agent');
      return agents.register(body);
    },
  };
}

function scopedEvents(events: EventService, rules: ScopeRules): EventService {
  return {
    get: (id) => rules.ofTask('event', id, events.get(id)),
    async list(query) {
      await rules.task(query.taskId);
      return events.list(query);
    },
  };
}

function scopedStates(states: StateService, rules: ScopeRules): StateService {
  const mine = (id: string) => rules.ofTask('state', id, states.get(id));
  return {
    async create(body) {
      await rules.task(body.task_id);
      await rules.agent(body.agent_id);
      return states.create(body);
    },
    get: mine,
    list: async (query) => states.list(await rules.narrow(query)),
    async update(id, body) {
      await mine(id);
      return states.update(id, body);
    },
    async delete(id) {
      await mine(id);
      return states.delete(id);
    },
  };
}

function scopedTrackers(trackers: TrackerService, rules: ScopeRules): TrackerService {
  const mine = (id: string) => rules.ofTask('tracker', id, trackers.get(id));
  return {
    get: mine,
    list: async (query) => trackers.list(await rules.narrow(query)),
    async update(id, body) {
      await mine(id);
      return trackers.update(id, body);
    },
  };
}
