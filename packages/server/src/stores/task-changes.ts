import type { Clock } from '@millrace/log';
import type { Rows } from '../contract/rows.ts';
import { errorReason } from '../contract/server-error.ts';
import type { Task } from '../contract/task.ts';
import { storedTask } from './task-store.ts';

type TaskListener = (task: Task) => void;

/**
 * Publishes changes of task rows to listeners in this process. A listener that misses a change can read the
 * row instead.
 */
export class TaskChanges {
  readonly #listeners = new Map<string, Set<TaskListener>>();

  /** Calls the listener after each change, until the returned function is called. */
  listen(taskId: string, listener: TaskListener): () => void {
    const listeners = this.#listeners.get(taskId) ?? new Set();
    this.#listeners.set(taskId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(taskId) === listeners)
        this.#listeners.delete(taskId);
    };
  }

  /** True if there are no listeners. */
  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  hasListeners(taskId: string): boolean {
    return this.#listeners.has(taskId);
  }

  publish(task: Task): void {
    for (const listener of [...(this.#listeners.get(task.id) ?? [])]) {
      try {
        listener(task);
      } catch {
        // A failing listener must not affect the request that changed the row.
      }
    }
  }
}

interface TaskRowPollerOptions {
  readonly rows: Rows;
  readonly changes: TaskChanges;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly onDiagnostic: (problem: string) => void;
}

/**
 * Maximum number of recently changed rows that a poll reads. If more rows have changed, the clients of the
 * other rows see the change when they reconnect.
 */
const maxPolled = 200;

/**
 * Polls for changes that different servers made to task rows, and publishes them to the listeners in this
 * process. One query serves all listeners. While the store's stamp stays the same, it makes no query.
 */
export class TaskRowPoller {
  readonly #options: TaskRowPollerOptions;
  /** The last known version of each row that has listeners. */
  #versions: ReadonlyMap<string, number> = new Map();
  /** The store's stamp at the last successful poll. */
  #stamp: string | undefined;
  #cancel: () => void = () => {};
  #isStopped = false;
  #polling: Promise<void> = Promise.resolve();

  constructor(options: TaskRowPollerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isStopped) return;
    const { clock, everyMs } = this.#options;
    const poll = () => {
      this.#polling = this.poll().then(() => this.start());
    };
    this.#cancel = clock.after(everyMs, poll, { isIdle: true });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#polling;
  }

  /** Polls once. */
  async poll(): Promise<void> {
    const { rows, changes, onDiagnostic } = this.#options;
    if (changes.isEmpty) return;
    try {
      const stamp = await rows.stamp?.('tasks');
      if (stamp !== undefined && stamp === this.#stamp) return;
      const order = { orderBy: 'updatedAt', direction: 'desc', limit: maxPolled } as const;
      const all = await rows.list('tasks', order);
      const watched = all.filter(({ id }) => changes.hasListeners(id));
      const before = this.#versions;
      this.#versions = new Map(watched.map(({ id, version }) => [id, version]));
      // A listener that already has this version ignores the row.
      for (const row of watched)
        if (before.get(row.id) !== row.version) changes.publish(storedTask(row).task);
      this.#stamp = stamp;
    } catch (error) {
      onDiagnostic(`Cannot poll for changes of other servers: ${errorReason(error)}`);
    }
  }
}
