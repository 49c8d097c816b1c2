import type { Client, Clock, TaskDigest, TaskSummary } from '@millrace/client';
import type { Api } from '../app/api.ts';
import type { OverviewTask } from './overview-figures.ts';
import { othersOf, readLists, type TaskLists } from './task-lists.ts';

export interface OverviewState {
  readonly isLoaded: boolean;
  /** Those that changed last. */
  readonly tasks: readonly OverviewTask[];
  /** Older ones that run, wait or failed. */
  readonly others: readonly OverviewTask[];
  /** There are older ones, which are not looked at. */
  readonly isMore: boolean;
  /** There may be more that runs or failed than was found. */
  readonly isCut: boolean;
  /** When it was so, in ms since 1970. */
  readonly readAt: number | undefined;
  readonly error: unknown;
}

export interface OverviewOptions {
  readonly client: Pick<Client, 'tasks' | 'task'>;
  readonly api: Pick<Api, 'get'>;
  readonly clock: Clock;
  /** Nobody sees a page that is hidden, and so nothing is asked for. */
  readonly isVisible?: () => boolean;
}

const everyMs = 5_000;
/** Of tasks that rest, only these are looked at each time; the others every so many rounds. */
const latest = 12;
const roundsForAll = 6;
const atOnce = 4;

const empty: OverviewState = {
  ...{ isLoaded: false, tasks: [], others: [], isMore: false, isCut: false },
  ...{ readAt: undefined, error: undefined },
};

/** The latest tasks, older ones that run or failed, and what each came to, asked for again while somebody looks. */
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
      void this.#work(this.#stopped.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stopTimer();
      this.#stopped.abort();
    };
  };

  async #work(signal: AbortSignal): Promise<void> {
    if (this.#options.isVisible?.() ?? true) await this.#look(signal);
    if (signal.aborted) return;
    this.#stopTimer = this.#options.clock.after(everyMs, () => void this.#work(signal));
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      const lists = await readLists(this.#options, signal);
      if (signal.aborted) return;
      const others = othersOf(lists);
      const ids = new Set([...lists.latest, ...others].map(({ id }) => id));
      for (const id of this.#digests.keys()) if (!ids.has(id)) this.#digests.delete(id);
      const show = (isLoaded: boolean) => this.#change(this.#shown(lists, isLoaded, clock.now()));
      show(this.#state.isLoaded || ids.size === 0);
      await this.#readDigests(this.#due(lists, others), signal);
      if (!signal.aborted) show(true);
    } catch (error) {
      if (!signal.aborted) this.#change({ ...this.#state, error });
    }
  }

  #shown(lists: TaskLists, isLoaded: boolean, readAt: number): OverviewState {
    const { latest: newest, isMore, isCut } = lists;
    const tasks = this.#joined(newest);
    const others = this.#joined(othersOf(lists));
    return { isLoaded, tasks, others, isMore, isCut, readAt, error: undefined };
  }

  #due({ latest: tasks, working }: TaskLists, others: readonly TaskSummary[]): string[] {
    const isAll = this.#round++ % roundsForAll === 0;
    const atWork = new Set(working.map(({ id }) => id));
    const isDue = ({ id }: TaskSummary) =>
      isAll || atWork.has(id) || this.#digests.get(id)?.state !== 'idle';
    const due = [...tasks.filter((task, place) => place < latest || isDue(task))];
    return [...due, ...others.filter(isDue)].map(({ id }) => id);
  }

  async #readDigests(ids: string[], signal: AbortSignal): Promise<void> {
    const readSome = async () => {
      for (let id = ids.shift(); id !== undefined && !signal.aborted; id = ids.shift()) {
        // A task that went meanwhile is left out; the others are told.
        const digest = await this.#options.client
          .task(id)
          .digest({ signal })
          .catch(() => undefined);
        if (digest !== undefined) this.#digests.set(id, digest);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, readSome));
  }

  #joined(tasks: readonly TaskSummary[]): readonly OverviewTask[] {
    return tasks.map((task) => ({ task, digest: this.#digests.get(task.id) }));
  }

  #change(state: OverviewState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }
}
