import type { AgentInfo, TaskSummary } from '@millrace/client';
import { ClientError } from '@millrace/client';
import type { JsonValue } from '@millrace/core';
import type { Api } from './api.ts';

/** A task as the list shows it. */
export interface ListedTask extends TaskSummary {
  readonly agents: readonly AgentInfo[] | null;
}

export interface DirectoryState {
  readonly isLoaded: boolean;
  readonly agents: readonly AgentInfo[];
  /** The last changed first. */
  readonly tasks: readonly ListedTask[];
  readonly error: ClientError | undefined;
}

/** Lists are asked for so often: there is no stream of them. */
const everyMs = 5000;
const maxTasks = 200;

/** The agents and tasks of the server, kept up to date while somebody looks. */
export class Directory {
  readonly #api: Api;
  readonly #listeners = new Set<() => void>();
  #state: DirectoryState = { isLoaded: false, agents: [], tasks: [], error: undefined };
  #told = '';
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

  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const [agents, tasks] = await Promise.all([
        this.#api.get('/agents?limit=1000'),
        this.#api.get(`/tasks?limit=${maxTasks}&relationships=agents`),
      ]);
      this.#set(agents, tasks);
    } catch (error) {
      this.#fail(error);
    }
    clearTimeout(this.#timer);
    if (this.#listeners.size > 0) this.#timer = setTimeout(() => this.#again(), everyMs);
  }

  #again(): void {
    if (document.visibilityState === 'visible') void this.refresh();
  }

  readonly #onVisible = (): void => this.#again();

  #set(agents: JsonValue, tasks: JsonValue): void {
    // What is the same is the same object, so that nothing renders for nothing.
    const told = JSON.stringify([agents, tasks]);
    if (told === this.#told && this.#state.error === undefined) return;
    this.#told = told;
    this.#change({
      isLoaded: true,
      agents: agents as unknown as readonly AgentInfo[],
      tasks: tasks as unknown as readonly ListedTask[],
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
