import type { Client, Clock, TaskDigest, TaskSummary } from '@millrace/client';
import type { OverviewTask } from './overview-figures.ts';

export interface OverviewState {
  readonly isLoaded: boolean;
  readonly tasks: readonly OverviewTask[];
  /** There are older ones, which are not looked at. */
  readonly isMore: boolean;
  readonly error: unknown;
}

export interface OverviewOptions {
  readonly client: Pick<Client, 'tasks' | 'task'>;
  readonly clock: Clock;
  /** Nobody sees a page that is hidden, and so nothing is asked for. */
  readonly isVisible?: () => boolean;
}

/** The latest ones alone, because each costs the server a look into its log. */
const maxTasks = 50;
const everyMs = 5_000;
/** Of tasks that rest, only these are looked at each time; the others every so many rounds. */
const latest = 12;
const roundsForAll = 6;
const atOnce = 4;

/** The latest tasks and what each came to, asked for again while somebody looks. */
export class OverviewStore {
  readonly #options: OverviewOptions;
  readonly #listeners = new Set<() => void>();
  readonly #digests = new Map<string, TaskDigest>();
  #state: OverviewState = { isLoaded: false, tasks: [], isMore: false, error: undefined };
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
    try {
      const { data, next } = await this.#options.client.tasks({ limit: maxTasks }, { signal });
      if (signal.aborted) return;
      const ids = new Set(data.map(({ id }) => id));
      for (const id of this.#digests.keys()) if (!ids.has(id)) this.#digests.delete(id);
      const show = (isLoaded: boolean) =>
        this.#change({
          isLoaded,
          tasks: this.#joined(data),
          isMore: next !== undefined,
          error: undefined,
        });
      show(this.#state.isLoaded || data.length === 0);
      await this.#readDigests(this.#due(data), signal);
      if (!signal.aborted) show(true);
    } catch (error) {
      if (!signal.aborted) this.#change({ ...this.#state, error });
    }
  }

  #due(tasks: readonly TaskSummary[]): string[] {
    const isAll = this.#round++ % roundsForAll === 0;
    const isDue = ({ id }: TaskSummary, place: number) =>
      isAll || place < latest || this.#digests.get(id)?.state !== 'idle';
    return tasks.filter(isDue).map(({ id }) => id);
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
