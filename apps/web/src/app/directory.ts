import type { AgentInfo, TaskSummary } from '@millrace/client';
import { ClientError } from '@millrace/client';
import type { JsonValue } from '@millrace/core';
import type { Api } from './api.ts';

/** A task as the list shows it. */
export interface ListedTask extends TaskSummary {
  readonly agents: readonly AgentInfo[] | null;
  /** Something of it is not finished: the agent works, or waits for somebody's word. */
  readonly is_at_work?: boolean | undefined;
}

export interface DirectoryState {
  readonly isLoaded: boolean;
  readonly agents: readonly AgentInfo[];
  /** The last changed first. */
  readonly tasks: readonly ListedTask[];
  /** There are older ones, which `more` asks for. */
  readonly isMore: boolean;
  /** Tasks that are not in the list and were looked for, by their id. */
  readonly others: ReadonlyMap<string, ListedTask>;
  readonly error: ClientError | undefined;
}

/** Lists are asked for so often: there is no stream of them. */
const everyMs = 5000;
const tasksAtOnce = 200;
/** What the server gives in one answer. */
const maxTasks = 1000;
const maxOthers = 100;

const empty: DirectoryState = {
  ...{ isLoaded: false, agents: [], tasks: [], isMore: false },
  ...{ others: new Map<string, ListedTask>(), error: undefined },
};

/** The agents and tasks of the server, kept up to date while somebody looks. */
export class Directory {
  readonly #api: Api;
  readonly #listeners = new Set<() => void>();
  #state: DirectoryState = empty;
  #limit = tasksAtOnce;
  #asking: Promise<void> | undefined;
  #isStale = false;
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

  /** One at a time: who asks while one is under way gets another after it. */
  refresh(): Promise<void> {
    if (this.#asking === undefined) this.#asking = this.#ask();
    else this.#isStale = true;
    return this.#asking;
  }

  /** The older ones as well, as far as the server tells them at once. */
  more(): Promise<void> {
    this.#limit = Math.min(maxTasks, this.#limit + tasksAtOnce);
    return this.refresh();
  }

  /** All that the server tells at once, to be searched. */
  all(): Promise<void> {
    if (this.#limit === maxTasks) return Promise.resolve();
    this.#limit = maxTasks;
    return this.refresh();
  }

  /** Asks for one that is not in the list. */
  async look(id: string): Promise<void> {
    const path = `/tasks/${encodeURIComponent(id)}?relationships=agents`;
    const found = await this.#api.get(path).catch(() => undefined);
    // Its stream says what became of it.
    if (found === undefined) return;
    const others = [...this.#state.others].slice(1 - maxOthers);
    const one = [id, found as unknown as ListedTask] as const;
    this.#change({ ...this.#state, others: new Map([...others, one]) });
  }

  async #ask(): Promise<void> {
    clearTimeout(this.#timer);
    do {
      this.#isStale = false;
      await this.#askOnce();
    } while (this.#isStale);
    this.#asking = undefined;
    if (this.#listeners.size > 0) this.#timer = setTimeout(() => this.#again(), everyMs);
  }

  async #askOnce(): Promise<void> {
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

  #again(): void {
    if (document.visibilityState === 'visible') void this.refresh();
  }

  readonly #onVisible = (): void => this.#again();

  #set(agents: JsonValue, tasks: JsonValue, limit: number): void {
    // What is the same is the same object, so that nothing renders for nothing.
    const told = JSON.stringify([agents, tasks]);
    if (told === this.#told && this.#state.error === undefined) return;
    this.#told = told;
    const listed = tasks as unknown as readonly ListedTask[];
    this.#change({
      ...this.#state,
      isLoaded: true,
      agents: agents as unknown as readonly AgentInfo[],
      tasks: listed,
      isMore: listed.length >= limit && limit < maxTasks,
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
