import type { Client, Clock, TaskDigest, TaskStatus, TaskSummary } from '@millrace/client';
import type { Api } from '../server/api.ts';
import type { ListedTask } from '../server/directory.ts';
import type { OverviewTask } from './overview-rows.ts';

interface OverviewState {
  readonly isLoaded: boolean;
  /** The most recently changed tasks. */
  readonly tasks: readonly OverviewTask[];
  /** Older tasks that run, wait or failed. */
  readonly others: readonly OverviewTask[];
  /** True if the server has older tasks that are not loaded. */
  readonly hasMore: boolean;
  /** True if there may be more running or failed tasks than the list contains. */
  readonly isTruncated: boolean;
  /** The time at which the lists were read, in ms since 1970. */
  readonly readAt: number | undefined;
  readonly error: unknown;
}

interface OverviewOptions {
  readonly client: Pick<Client, 'tasks' | 'task'>;
  readonly api: Pick<Api, 'get'>;
  readonly clock: Clock;
  /**
   * Returns true if the page is visible. A hidden page sends no requests. Default: always visible.
   */
  readonly isVisible?: () => boolean;
}

const pollIntervalMs = 5_000;
/**
 * The digests of this many latest tasks are read in each round. The digests of other idle tasks are
 * read only in every sixth round.
 */
const alwaysRefreshedCount = 12;
const fullRefreshEvery = 6;
const maxConcurrent = 4;

const empty: OverviewState = {
  ...{ isLoaded: false, tasks: [], others: [], hasMore: false, isTruncated: false },
  ...{ readAt: undefined, error: undefined },
};

/**
 * Polls the latest tasks, older tasks that run or failed, and their digests. It polls only while it
 * has listeners.
 */
export class OverviewStore {
  readonly #options: OverviewOptions;
  readonly #listeners = new Set<() => void>();
  readonly #digests = new Map<string, TaskDigest>();
  #state: OverviewState = empty;
  #stopped = new AbortController();
  #stopTimer: () => void = () => {};
  #round = 0;

  constructor(options: OverviewOptions) {
    this.#options = options;
  }

  readonly now = (): OverviewState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      this.#stopped = new AbortController();
      void this.#poll(this.#stopped.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stopTimer();
      this.#stopped.abort();
    };
  };

  async #poll(signal: AbortSignal): Promise<void> {
    if (this.#options.isVisible?.() ?? true) await this.#refresh(signal);
    if (signal.aborted) return;
    this.#stopTimer = this.#options.clock.after(pollIntervalMs, () => void this.#poll(signal));
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      const lists = await readLists(this.#options, signal);
      if (signal.aborted) return;
      const others = otherTasks(lists);
      const ids = new Set([...lists.latest, ...others].map(({ id }) => id));
      for (const id of this.#digests.keys()) if (!ids.has(id)) this.#digests.delete(id);
      const show = (isLoaded: boolean) => this.#change(this.#stateOf(lists, isLoaded, clock.now()));
      show(this.#state.isLoaded || ids.size === 0);
      await this.#readDigests(this.#idsToRefresh(lists, others), signal);
      if (!signal.aborted) show(true);
    } catch (error) {
      if (!signal.aborted) this.#change({ ...this.#state, error });
    }
  }

  #stateOf(lists: TaskLists, isLoaded: boolean, readAt: number): OverviewState {
    const { latest: newest, hasMore, isTruncated } = lists;
    const tasks = this.#withDigests(newest);
    const others = this.#withDigests(otherTasks(lists));
    return { isLoaded, tasks, others, hasMore, isTruncated, readAt, error: undefined };
  }

  #idsToRefresh({ latest: tasks, working }: TaskLists, others: readonly TaskSummary[]): string[] {
    const isAll = this.#round++ % fullRefreshEvery === 0;
    const atWork = new Set(working.map(({ id }) => id));
    const isDue = ({ id }: TaskSummary) =>
      isAll || atWork.has(id) || this.#digests.get(id)?.state !== 'idle';
    const due = [...tasks.filter((task, place) => place < alwaysRefreshedCount || isDue(task))];
    return [...due, ...others.filter(isDue)].map(({ id }) => id);
  }

  async #readDigests(ids: string[], signal: AbortSignal): Promise<void> {
    const readSome = async () => {
      for (let id = ids.shift(); id !== undefined && !signal.aborted; id = ids.shift()) {
        // A deleted task has no digest and is skipped.
        const digest = await this.#options.client
          .task(id)
          .digest({ signal })
          .catch(() => undefined);
        if (digest !== undefined) this.#digests.set(id, digest);
      }
    };
    await Promise.all(Array.from({ length: maxConcurrent }, readSome));
  }

  #withDigests(tasks: readonly TaskSummary[]): readonly OverviewTask[] {
    return tasks.map((task) => ({ task, digest: this.#digests.get(task.id) }));
  }

  #change(state: OverviewState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** The task lists that the server returned. */
interface TaskLists {
  /** The most recently changed tasks, with any status. */
  readonly latest: readonly TaskSummary[];
  readonly hasMore: boolean;
  /** Tasks with a run in progress or an open approval request. */
  readonly working: readonly TaskSummary[];
  readonly failed: readonly TaskSummary[];
  /** True if the server may have more working or failed tasks than these lists. */
  readonly isTruncated: boolean;
}

/**
 * Maximum number of tasks in a list. For each task the server reads a log, so the number is
 * limited.
 */
const maxTasks = 50;
/** Maximum number of tasks that the server returns for one request. */
const maxRunningTasks = 1000;

interface ListSources {
  readonly client: Pick<Client, 'tasks'>;
  readonly api: Pick<Api, 'get'>;
}

/**
 * Reads the lists of tasks. Running and failed tasks have their own lists, because the list of the newest
 * tasks does not contain a task that changed long ago.
 */
async function readLists({ client, api }: ListSources, signal: AbortSignal): Promise<TaskLists> {
  const list = (status?: TaskStatus) => client.tasks({ status, limit: maxTasks }, { signal });
  const path = `/tasks?status=RUNNING&limit=${maxRunningTasks}&relationships=work`;
  const [latest, failed, timedOut, seen] = await Promise.all([
    ...[list(), list('FAILED'), list('TIMED_OUT')],
    api.get(path, signal) as Promise<unknown> as Promise<readonly ListedTask[]>,
  ] as const);
  // Tasks that wait for an approval come first, so that the limit never drops them.
  const rank = ({ awaits_approval }: ListedTask) => (awaits_approval === true ? 0 : 1);
  const working = seen
    .filter((task) => task.is_at_work === true)
    .toSorted((a, b) => rank(a) - rank(b));
  const isFull = seen.length >= maxRunningTasks || working.length > maxTasks;
  return {
    latest: latest.data,
    hasMore: latest.next !== undefined,
    working: working.slice(0, maxTasks),
    failed: [...failed.data, ...timedOut.data],
    isTruncated: isFull || failed.next !== undefined || timedOut.next !== undefined,
  };
}

/** Returns the working and failed tasks that are not in the list of the latest tasks. */
function otherTasks({ latest, working, failed }: TaskLists): readonly TaskSummary[] {
  const latestIds = new Set(latest.map(({ id }) => id));
  const others = new Map([...working, ...failed].map((task) => [task.id, task]));
  return [...others.values()].filter(({ id }) => !latestIds.has(id));
}
