import { ServerError } from '../../contract/server-error.ts';
import type { Scope, TaskService } from '../../contract/service.ts';
import { noSuch } from '../../stores/row-access.ts';

/** Which tasks and agents a scope has. What is not the caller's is told as if it were not there. */
export class ScopeRules {
  readonly #service: TaskService;
  readonly scope: Exclude<Scope, { kind: 'all' }>;

  constructor(service: TaskService, scope: Exclude<Scope, { kind: 'all' }>) {
    this.#service = service;
    this.scope = scope;
  }

  /** Throws as if the task were not there. */
  async assertTask(id: string): Promise<void> {
    if (!(await this.hasTask(id))) throw noSuch('task', id);
  }

  async hasTask(id: string): Promise<boolean> {
    const { scope } = this;
    if (scope.kind === 'task') return scope.taskId === id;
    const { agents } = await this.#service.tasks.get({ id });
    return agents?.some((assertAgent) => assertAgent.id === scope.agentId) ?? false;
  }

  async agent(id: string): Promise<void> {
    if (!(await this.hasAgent(id))) throw noSuch('agent', id);
  }

  /** A task's token may ask the task's agents. */
  async hasAgent(id: string): Promise<boolean> {
    const { scope } = this;
    if (scope.kind === 'agent') return scope.agentId === id;
    const { agents } = await this.#service.tasks.get({ id: scope.taskId });
    return agents?.some((agent) => agent.id === id) ?? false;
  }

  /**
   * What is found, where it is the caller's. What is not, and what is not there, is refused in the same
   * words, which have no more in them than what was asked for.
   */
  async findOwned<T>(
    what: string,
    asked: string,
    find: Promise<T>,
    isOwn: (found: T) => Promise<boolean>,
  ): Promise<T> {
    const found = await find.catch((error: unknown) => {
      throw isNotFound(error) ? noSuch(what, asked) : error;
    });
    if (await isOwn(found)) return found;
    throw noSuch(what, asked);
  }

  /** The same of what belongs to a task. */
  findOwnedByTask<T extends { readonly task_id: string }>(
    what: string,
    asked: string,
    find: Promise<T>,
  ): Promise<T> {
    return this.findOwned(what, asked, find, ({ task_id }) => this.hasTask(task_id));
  }

  /** Of a list that may be narrowed to a task: to which, for this caller. */
  async restrict<Q extends { taskId?: string | undefined; agentId?: string | undefined }>(
    query: Q,
  ): Promise<Q> {
    const { scope } = this;
    if (query.taskId !== undefined) await this.assertTask(query.taskId);
    if (query.agentId !== undefined) await this.agent(query.agentId);
    return scope.kind === 'task'
      ? { ...query, taskId: scope.taskId }
      : { ...query, agentId: scope.agentId };
  }

  forbid(what: string): ServerError {
    const message = `Cannot ${what} with a token for one ${this.scope.kind}. Use one for all`;
    return new ServerError('forbidden', message);
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ServerError && error.code === 'not_found';
}
