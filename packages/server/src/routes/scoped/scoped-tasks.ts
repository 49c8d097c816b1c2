import type { TasksService } from '../service.ts';
import type { ScopeRules } from './scope-rules.ts';

export function scopedTasks(tasks: TasksService, rules: ScopeRules): TasksService {
  const get: TasksService['get'] = async (ref) => {
    const task = await tasks.get(ref);
    await rules.task(task.id);
    return task;
  };
  /** A name may be that of a task which is somebody else's. */
  const checkNamed = async (named: NamedTask): Promise<void> => {
    if (named.task_id != null) await rules.task(named.task_id);
    else if (named.task_name == null) checkNew(rules);
    else await checkName(tasks, rules, named.task_name);
  };
  return {
    get,
    async create(agentId, body) {
      await rules.agent(agentId);
      await checkNamed({ task_name: body.name });
      return tasks.create(agentId, body);
    },
    async sendMessage(agentId, body) {
      await rules.agent(agentId);
      await checkNamed(body);
      return tasks.sendMessage(agentId, body);
    },
    async sendEvent(agentId, body, key) {
      await rules.agent(agentId);
      await checkNamed(body);
      return tasks.sendEvent(agentId, body, key);
    },
    async submit(taskId, command, key) {
      await rules.task(taskId);
      return tasks.submit(taskId, command, key);
    },
    async list(query) {
      const { scope } = rules;
      if (query.agentId !== undefined) await rules.agent(query.agentId);
      if (scope.kind === 'agent') return tasks.list({ ...query, agentId: scope.agentId });
      const { params: _, ...task } = await tasks.get({ id: scope.taskId });
      const fits = query.status === undefined || query.status === task.status;
      return { data: fits ? [task] : [], next: null };
    },
    async update(id, body) {
      await rules.task(id);
      return tasks.update(id, body);
    },
    async delete(id) {
      await rules.task(id);
      return tasks.delete(id);
    },
    async change(id, change, reason) {
      await rules.task(id);
      return tasks.change(id, change, reason);
    },
  };
}

interface NamedTask {
  readonly task_id?: string | null | undefined;
  readonly task_name?: string | null | undefined;
}

function checkNew(rules: ScopeRules): void {
  if (rules.scope.kind === 'task') throw rules.refuse('make a task');
}

/** One that is there has to be the caller's; one that is not is about to be made. */
async function checkName(tasks: TasksService, rules: ScopeRules, name: string): Promise<void> {
  const known = await tasks.get({ name }).catch(() => undefined);
  if (known === undefined) checkNew(rules);
  else await rules.task(known.id);
}
