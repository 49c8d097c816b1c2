import type { Command } from '../../contract/request-bodies.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { CopyLimit, TasksService } from '../../contract/service.ts';
import { isNotFound } from '../../stores/row-access.ts';
import { placeOf, taskSearch } from '../../stores/task-store.ts';
import type { ScopeRules } from './scope-rules.ts';

export function scopedTasks(
  service: TasksService,
  rules: ScopeRules,
  copies: CopyLimit | undefined,
): TasksService {
  const tasks = withInputCheck(service, rules);
  const owned = rules.scope.kind === 'user' ? { owner: rules.scope.user } : {};
  const get: TasksService['get'] = (ref) => {
    const reference = 'id' in ref ? ref.id : ref.name;
    return rules.findOwned('task', reference, tasks.get(ref), ({ id }) => rules.hasTask(id));
  };
  /**
   * Throws unless the caller may use the task with this id or name. If neither is given, the caller needs the
   * right to create a task.
   */
  const checkNamed = async ({ task_id, task_name }: NamedTask): Promise<void> => {
    if (task_id != null) await rules.assertTask(task_id);
    else if (task_name == null) assertMayCreate(rules);
    else await assertNameUsable(tasks, rules, task_name);
  };
  return {
    get,
    async ownerOf(taskId) {
      await rules.assertTask(taskId);
      return tasks.ownerOf(taskId);
    },
    async create(agentId, body, sent) {
      await rules.agent(agentId);
      await checkNamed({ task_name: body.name });
      return tasks.create(agentId, body, { ...sent, ...owned });
    },
    async sendMessage(agentId, body, sent) {
      await rules.agent(agentId);
      await checkNamed(body);
      return tasks.sendMessage(agentId, body, { ...sent, ...owned });
    },
    async sendEvent(agentId, body, sent) {
      await rules.agent(agentId);
      if (body.task_id != null) await rules.assertTask(body.task_id);
      else if (body.task_name != null) await get({ name: body.task_name });
      return tasks.sendEvent(agentId, body, sent);
    },
    async submit(taskId, command, sent) {
      await rules.assertTask(taskId);
      return tasks.submit(taskId, withVerifiedName(command, rules), sent);
    },
    async fork(taskId, body, sent) {
      await rules.assertTask(taskId);
      assertMayCreate(rules);
      return tasks.fork(taskId, body, { ...sent, copies });
    },
    async branch(taskId, body, sent) {
      await rules.assertTask(taskId);
      assertMayCreate(rules);
      // The operator of an agent decides about its instructions and the results of its tools.
      if (body.instructions != null) throw rules.forbid('replace the instructions of an agent');
      if ((body.results ?? []).length > 0) throw rules.forbid('replace the results of tools');
      return tasks.branch(taskId, body, { ...sent, copies });
    },
    async copy(taskId, copied, sent) {
      await rules.assertTask(taskId);
      assertMayCreate(rules);
      return tasks.copy(taskId, copied, { ...sent, copies });
    },
    async request(taskId, at) {
      await rules.assertTask(taskId);
      return tasks.request(taskId, at);
    },
    async list(query) {
      const { scope } = rules;
      if (query.agentId !== undefined) await rules.agent(query.agentId);
      // Only callers with full access see the titles and the metadata of deleted tasks.
      if (query.status === 'DELETED') return { data: [], next: null };
      if (scope.kind === 'agent') return tasks.list({ ...query, agentId: scope.agentId });
      if (scope.kind === 'user') return tasks.list({ ...query, ...owned });
      const { params: _, ...task } = await tasks.get({ id: scope.taskId });
      const isOfStatus = query.status === undefined || query.status === task.status;
      const isInPlace = query.place === undefined || query.place === placeOf(task);
      const fits = isOfStatus && isInPlace && taskSearch(query.search ?? '')(task);
      return { data: fits ? [task] : [], next: null };
    },
    async update(id, body) {
      await rules.assertTask(id);
      return tasks.update(id, body);
    },
    async delete(id) {
      await rules.assertTask(id);
      return tasks.delete(id);
    },
    async change(id, change, reason) {
      await rules.assertTask(id);
      return tasks.change(id, change, reason);
    },
  };
}

/**
 * Returns the service with a check of each input. Every request of a restricted caller that starts or continues a run
 * goes through these methods, so no route can leave the check out.
 */
function withInputCheck(tasks: TasksService, rules: ScopeRules): TasksService {
  return {
    ...tasks,
    async create(agentId, body, sent) {
      if (sent?.isAppCall !== true) await rules.assertInputAccepted(agentId);
      return tasks.create(agentId, body, sent);
    },
    async sendMessage(agentId, body, sent) {
      await rules.assertInputAccepted(agentId);
      return tasks.sendMessage(agentId, body, sent);
    },
    async sendEvent(agentId, body, sent) {
      await rules.assertInputAccepted(agentId);
      return tasks.sendEvent(agentId, body, sent);
    },
    async submit(taskId, command, sent) {
      const isInput = !commandsWithoutInput.has(command.type);
      if (isInput && sent?.isAppCall !== true) await rules.assertTaskAcceptsInput(taskId);
      return tasks.submit(taskId, command, sent);
    },
    async fork(taskId, body, sent) {
      await rules.assertTaskAcceptsInput(taskId);
      return tasks.fork(taskId, body, sent);
    },
    async branch(taskId, body, sent) {
      await rules.assertTaskAcceptsInput(taskId);
      return tasks.branch(taskId, body, sent);
    },
    async copy(taskId, copied, sent) {
      await rules.assertTaskAcceptsInput(taskId);
      return tasks.copy(taskId, copied, sent);
    },
  };
}

/** The commands about work that is already there. All others are input, also those that repeat earlier input. */
const commandsWithoutInput: ReadonlySet<Command['type']> = new Set<Command['type']>([
  ...(['approve', 'deny', 'tool_output', 'abort', 'compact', 'withdraw', 'revoke'] as const),
]);

/**
 * Sets the name of the person who decides. For a user of the application, the server knows the name. For a
 * token, the server does not know the person, so it marks the name that the client sent as unverified.
 */
function withVerifiedName(command: Command, { scope }: ScopeRules): Command {
  if (!('tool_call_id' in command)) return command;
  if (scope.kind === 'user') return { ...command, by: scope.user };
  return command.by == null ? command : { ...command, by: `${unverified}${command.by}` };
}

const unverified = 'unverified: ';

interface NamedTask {
  readonly task_id?: string | null | undefined;
  readonly task_name?: string | null | undefined;
}

function assertMayCreate(rules: ScopeRules): void {
  if (rules.scope.kind === 'task') throw rules.forbid('create a task');
}

/**
 * Throws unless the caller may use this task name. An existing task must be in the scope. For a new name, the
 * caller needs the right to create a task.
 */
async function assertNameUsable(
  tasks: TasksService,
  rules: ScopeRules,
  name: string,
): Promise<void> {
  const known = await tasks.get({ name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  if (known === undefined) return assertMayCreate(rules);
  if (await rules.hasTask(known.id)) return;
  const message = 'Cannot use this name: another task has it. Choose another name';
  throw new ServerError('conflict', message);
}
