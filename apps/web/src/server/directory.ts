import { type AgentInfo, ClientError, type TaskSummary } from '@millrace/client';
import type { JsonValue } from '@millrace/core';
import type { Api } from './api.ts';

/** A task as the list shows it. */
export interface ListedTask extends TaskSummary {
  readonly agents: readonly AgentInfo[] | null;
  /** Something of it is not finished: the agent works, or waits for somebody's word. */
  readonly is_at_work?: boolean | undefined;
  /** A call of it waits for somebody to allow it; undefined where that is not known. */
  readonly awaits_approval?: boolean | undefined;
}

export interface DirectoryState {
  readonly isLoaded: boolean;
  readonly agents: readonly AgentInfo[];
  /** The last changed first. */
  readonly tasks: readonly ListedTask[];
  /** There are older ones, which `more` asks for. */
  readonly hasMore: boolean;
  /** Tasks that are not in the list and were looked for, by their id. */
  readonly others: ReadonlyMap<string, ListedTask>;
  readonly error: ClientError | undefined;
}

/** Is every task of the server in the list? Where not, one may be there that is not found in it. */
export function hasAllTasks({ isLoaded, hasMore, tasks }: DirectoryState): boolean {
  return isLoaded && !hasMore && tasks.length < maxTasks;
}

/** Lists are asked for so often: there is no stream of them. */
const pollIntervalMs = 5000;
const taskPageSize = 200;
/** What the server gives in one answer. */
const maxTasks = 1000;
const maxOthers = 100;

const empty: DirectoryState = {
  ...{ isLoaded: false, agents: [], tasks: [], hasMore: false },
  ...{ others: new Map<string, ListedTask>(), error: undefined },
};

/** The agents and tasks of the server, kept up to date while somebody looks. */
export class Directory {
  readonly #api: Api;
  readonly #listeners = new Set<() => void>();
  /** What was looked for and is no task: the sessions of sub-agents, for instance. */
  readonly #unknown = new Set<string>();
  #state: DirectoryState = empty;
  #limit = taskPageSize;
  #request: Promise<void> | undefined;
  #isStale = false;
  #response = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: Api) {
    this.#api = api;
  }

  readonly state = (): DirectoryState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      document.addEventListener('visibilitychange', this.#onVisible);
      void this.refresh();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      document.removeEventListener('visibilitychange', this.#onVisible);
      clearTimeout(this.#timer);
    };
  };

  /** One at a time: who asks while one is under way gets another after it. */
  refresh(): Promise<void> {
    if (this.#request === undefined) this.#request = this.#poll();
    else this.#isStale = true;
    return this.#request;
  }

  /** The older ones as well, as far as the server tells them at once. */
  more(): Promise<void> {
    this.#limit = Math.min(maxTasks, this.#limit + taskPageSize);
    return this.refresh();
  }

  /** Asks for one that is not in the list. One that the server does not know is asked for once. */
  async look(id: string): Promise<void> {
    if (this.#unknown.has(id)) return;
    const path = `/tasks/${encodeURIComponent(id)}?relationships=agents`;
    const found = await this.#api.get(path).catch((error: unknown) => {
      if (isNotFound(error)) this.#rememberUnknown(id);
    });
    // Its stream says what became of it.
    if (found === undefined) return;
    const others = [...this.#state.others].slice(1 - maxOthers);
    const one = [id, found as unknown as ListedTask] as const;
    this.#change({ ...this.#state, others: new Map([...others, one]) });
  }

  #rememberUnknown(id: string): void {
    this.#unknown.add(id);
    const [oldest] = this.#unknown;
    if (this.#unknown.size > maxOthers && oldest !== undefined) this.#unknown.delete(oldest);
  }

  async #poll(): Promise<void> {
    clearTimeout(this.#timer);
    do {
      this.#isStale = false;
      await this.#fetchLists();
    } while (this.#isStale);
    this.#request = undefined;
    if (this.#listeners.size > 0)
      this.#timer = setTimeout(() => this.#pollIfVisible(), pollIntervalMs);
  }

  async #fetchLists(): Promise<void> {
    const limit = this.#limit;
    try {
      const [agents, tasks] = await Promise.all([
        this.#api.get('/agents?limit=1000'),
        this.#api.get(`/tasks?limit=${limit}&relationships=agents&relationships=work`),
      ]);
      this.#set(agents, tasks, limit);
    } catch (error) {
      this.#fail(error);
    }
  }

  #pollIfVisible(): void {
    if (document.visibilityState === 'visible') void this.refresh();
  }

  readonly #onVisible = (): void => this.#pollIfVisible();

  #set(agents: JsonValue, tasks: JsonValue, limit: number): void {
    // What is the same is the same object, so that nothing renders for nothing.
    const response = JSON.stringify([agents, tasks]);
    if (response === this.#response && this.#state.error === undefined) return;
    this.#response = response;
    const listed = tasks as unknown as readonly ListedTask[];
    this.#change({
      ...this.#state,
      isLoaded: true,
      agents: agents as unknown as readonly AgentInfo[],
      tasks: listed,
      hasMore: listed.length >= limit && limit < maxTasks,
      error: undefined,
    });
  }

  #fail(error: unknown): void {
    const known =
      error instanceof ClientError
        ? error
        : new ClientError('bad_answer', 'The list could not be read', {}, { cause: error });
    if (known.message === this.#state.error?.message) return;
    this.#change({ ...this.#state, error: known });
  }

  #change(state: DirectoryState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof ClientError && error.status === 404;
}
