import { ServerError } from '../../contract/server-error.ts';
import type { Scope, TaskFilter, TaskService } from '../../contract/service.ts';
import type { AgentInfo } from '../../contract/task.ts';
import { isFound, isNotFound, notFoundError } from '../../stores/row-access.ts';

/**
 * Decides which tasks and agents are in a scope. The server treats everything outside the scope as
 * nonexistent.
 */
export class ScopeRules {
  readonly #service: TaskService;
  readonly scope: Exclude<Scope, { kind: 'all' }>;

  constructor(service: TaskService, scope: Exclude<Scope, { kind: 'all' }>) {
    this.#service = service;
    this.scope = scope;
  }

  /** Throws `not_found` if the task is not in the scope. */
  async assertTask(id: string): Promise<void> {
    if (!(await this.hasTask(id))) throw notFoundError('task', id);
  }

  /** Returns whether the task exists and is in the scope. A deleted task does not exist. */
  async hasTask(id: string): Promise<boolean> {
    const { scope } = this;
    const { tasks } = this.#service;
    if (scope.kind === 'task' && scope.taskId !== id) return false;
    try {
      if (scope.kind === 'user') return (await tasks.ownerOf(id)) === scope.user;
      const { agents } = await tasks.get({ id });
      return (
        scope.kind === 'task' || (agents?.some((agent) => agent.id === scope.agentId) ?? false)
      );
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /**
   * Returns whether a task of this scope still exists. It reads less than `hasTask`. Lists use it for rows that
   * belong to the scope.
   */
  isTaskLeft = (id: string): Promise<boolean> => isFound(this.#service.tasks.ownerOf(id));

  async agent(id: string): Promise<void> {
    if (!(await this.hasAgent(id))) throw notFoundError('agent', id);
  }

  /**
   * Returns whether the agent is in the scope. A task token also gives access to the task's agents. A user
   * can use every agent.
   */
  async hasAgent(id: string): Promise<boolean> {
    const { scope } = this;
    if (scope.kind === 'agent') return scope.agentId === id;
    if (scope.kind === 'user') return true;
    const { agents } = await this.#service.tasks.get({ id: scope.taskId });
    return agents?.some((agent) => agent.id === id) ?? false;
  }

  /**
   * Throws if the agent only runs calls of MCP apps. Such an agent calls each tool that a message names. The route
   * for calls of apps sends only messages with a tool that the log lists for the app.
   */
  async assertInputAccepted(agentId: string): Promise<void> {
    this.#assertAcceptsInput(await this.#service.agents.get({ id: agentId }));
  }

  /** Throws if the agent of the task only runs calls of MCP apps. */
  async assertTaskAcceptsInput(taskId: string): Promise<void> {
    const { agents } = await this.#service.tasks.get({ id: taskId });
    for (const agent of agents ?? []) this.#assertAcceptsInput(agent);
  }

  #assertAcceptsInput({ registration_metadata: metadata }: AgentInfo): void {
    if (metadata?.['only_app_calls'] !== true) return;
    throw this.forbid('send input to an agent that runs the calls of MCP apps');
  }

  /**
   * Returns the found value if it is in the scope. Otherwise it throws the same error as for a missing value.
   * The error contains no data except the requested id.
   */
  async findOwned<T>(
    what: string,
    reference: string,
    find: Promise<T>,
    isOwn: (found: T) => Promise<boolean>,
  ): Promise<T> {
    const found = await find.catch((error: unknown) => {
      throw isNotFound(error) ? notFoundError(what, reference) : error;
    });
    if (await isOwn(found)) return found;
    throw notFoundError(what, reference);
  }

  /** Like `findOwned`, but for a value that belongs to a task. */
  findOwnedByTask<T extends { readonly task_id: string }>(
    what: string,
    reference: string,
    find: Promise<T>,
  ): Promise<T> {
    return this.findOwned(what, reference, find, ({ task_id }) => this.hasTask(task_id));
  }

  /** Restricts a list query to values in the scope. */
  async restrict<Q extends TaskFilter>(query: Q): Promise<Q> {
    const { scope } = this;
    if (query.taskId !== undefined) await this.assertTask(query.taskId);
    if (query.agentId !== undefined) await this.agent(query.agentId);
    switch (scope.kind) {
      case 'task':
        await this.assertTask(scope.taskId);
        return { ...query, taskId: scope.taskId };
      case 'agent':
        return { ...query, agentId: scope.agentId, isTaskShown: this.isTaskLeft };
      case 'user':
        if (query.taskId === undefined) throw this.forbid('list this without a task');
        return query;
    }
  }

  forbid(what: string): ServerError {
    const { kind } = this.scope;
    const who = kind === 'user' ? 'as a user' : `with a token for one ${kind}`;
    const message = `Cannot ${what} ${who}. Use a token for everything`;
    return new ServerError('forbidden', message);
  }
}
