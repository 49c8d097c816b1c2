import { type AgentInfo, ClientError, type TaskSummary } from '@millrace/client';
import type { JsonValue } from '@millrace/core';
import { pageLabels } from '../languages/page-labels.ts';
import type { Api } from './api.ts';

/** A task with the additional fields of the session list. */
export interface ListedTask extends TaskSummary {
  readonly agents: readonly AgentInfo[] | null;
  /** True if the task has unfinished work: the agent runs or waits for an approval. */
  readonly is_at_work?: boolean | undefined;
  /** True if a call of the task waits for an approval. Undefined if that is unknown. */
  readonly awaits_approval?: boolean | undefined;
}

export interface DirectoryState {
  readonly isLoaded: boolean;
  readonly agents: readonly AgentInfo[];
  /**
   * The recent tasks, the pinned tasks and the tasks in folders, sorted by their last change,
   * newest first.
   */
  readonly tasks: readonly ListedTask[];
  /** True if the server has older tasks. `loadMore` reads them. */
  readonly hasMore: boolean;
  /** Tasks that the page fetched by id, because the list does not contain them. */
  readonly others: ReadonlyMap<string, ListedTask>;
  readonly error: ClientError | undefined;
}

/** The time between two polls. The server has no stream of lists, so the page polls them. */
const pollIntervalMs = 5000;
const taskPageSize = 200;
/** Maximum number of tasks that the server returns for one request. */
const maxTasks = 1000;
/** Maximum number of pinned tasks and tasks in folders. */
const maxKept = 500;
/** Minimum number of tasks on an average page. Pages with fewer tasks shorten the list. */
const minPageLength = 50;
const maxOthers = 100;

const empty: DirectoryState = {
  ...{ isLoaded: false, agents: [], tasks: [], hasMore: false },
  ...{ others: new Map<string, ListedTask>(), error: undefined },
};

/** The agents and tasks of the server. It polls the server while it has listeners. */
export class Directory {
  readonly #api: Api;
  readonly #listeners = new Set<() => void>();
  /** Ids that are not tasks, for example sessions of sub-agents. */
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

  /** Reads the lists. If a request is already in progress, the next request starts after it. */
  refresh(): Promise<void> {
    if (this.#request === undefined) this.#request = this.#poll();
    else this.#isStale = true;
    return this.#request;
  }

  /** Also reads older tasks, up to the server's limit. */
  loadMore(): Promise<void> {
    this.#limit = Math.min(maxTasks, this.#limit + taskPageSize);
    return this.refresh();
  }

  /**
   * Fetches a task that the list does not contain. If the id is not a task, it is requested only
   * once.
   */
  async fetchTask(id: string): Promise<void> {
    if (this.#unknown.has(id)) return;
    const path = `/tasks/${encodeURIComponent(id)}?relationships=agents`;
    const found = await this.#api.get(path).catch((error: unknown) => {
      if (isNotFound(error)) this.#rememberUnknown(id);
    });
    // This method ignores the error, because the stream of the session reports it.
    if (found === undefined) return;
    const others = [...this.#state.others].slice(1 - maxOthers);
    const entry = [id, found as unknown as ListedTask] as const;
    this.#change({ ...this.#state, others: new Map([...others, entry]) });
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
      const [agents, recent, kept] = await Promise.all([
        this.#api.get('/agents?limit=1000'),
        this.#list('recent', limit),
        this.#list('kept', maxKept),
      ]);
      this.#set(agents, recent, kept.tasks, limit);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Lists tasks of one place. A page of the server ends early if its tasks are large. */
  async #list(place: string, count: number): Promise<TaskList> {
    const relationships = 'relationships=agents&relationships=work';
    const tasks: JsonValue[] = [];
    let after = '';
    for (let left = count / minPageLength; left > 0 && tasks.length < count; left--) {
      const path = `/tasks?place=${place}&limit=${count - tasks.length}&${relationships}${after}`;
      const { data, next } = await this.#api.page(path);
      tasks.push(...(data as readonly JsonValue[]));
      if (next === undefined) return { tasks, hasMore: false };
      after = `&cursor=${encodeURIComponent(next)}`;
    }
    return { tasks, hasMore: true };
  }

  #pollIfVisible(): void {
    if (document.visibilityState === 'visible') void this.refresh();
  }

  readonly #onVisible = (): void => this.#pollIfVisible();

  #set(agents: JsonValue, recent: TaskList, kept: JsonValue, limit: number): void {
    // If the response did not change, the state stays the same object and no component renders.
    const response = JSON.stringify([agents, recent.tasks, kept]);
    if (response === this.#response && this.#state.error === undefined) return;
    this.#response = response;
    const listed = recent.tasks as unknown as readonly ListedTask[];
    this.#change({
      ...this.#state,
      isLoaded: true,
      agents: agents as unknown as readonly AgentInfo[],
      tasks: merged(listed, kept as unknown as readonly ListedTask[]),
      hasMore: recent.hasMore && limit < maxTasks,
      error: undefined,
    });
  }

  #fail(error: unknown): void {
    const clientError =
      error instanceof ClientError
        ? error
        : new ClientError('bad_answer', pageLabels().listUnreadable, {}, { cause: error });
    if (clientError.message === this.#state.error?.message) return;
    this.#change({ ...this.#state, error: clientError });
  }

  #change(state: DirectoryState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }
}

interface TaskList {
  readonly tasks: readonly JsonValue[];
  readonly hasMore: boolean;
}

/**
 * Merges two lists. A task that moved between the two requests is in both lists. The result
 * contains it once.
 */
function merged(recent: readonly ListedTask[], kept: readonly ListedTask[]): readonly ListedTask[] {
  if (kept.length === 0) return recent;
  const byId = new Map([...recent, ...kept].map((task) => [task.id, task]));
  const changedAt = ({ updated_at }: ListedTask) => updated_at ?? '';
  return [...byId.values()].toSorted((a, b) => (changedAt(a) < changedAt(b) ? 1 : -1));
}

function isNotFound(error: unknown): boolean {
  return error instanceof ClientError && error.status === 404;
}
