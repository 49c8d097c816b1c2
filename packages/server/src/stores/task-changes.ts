import type { Clock } from '@millrace/log';
import type { Rows } from '../contract/rows.ts';
import { errorReason } from '../contract/server-error.ts';
import type { Task } from '../contract/task.ts';
import { storedTask } from './task-store.ts';

type TaskListener = (task: Task) => void;

/** Who wants to hear of a task's row. Nobody depends on it: the row says the same. */
export class TaskChanges {
  readonly #listeners = new Map<string, Set<TaskListener>>();

  /** Until the returned function is called. */
  listen(taskId: string, listener: TaskListener): () => void {
    const listeners = this.#listeners.get(taskId) ?? new Set();
    this.#listeners.set(taskId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(taskId) === listeners)
        this.#listeners.delete(taskId);
    };
  }

  /** Does nobody want to hear of anything? */
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
        // Who listens makes no problems for whoever changes something.
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

/** So many of those that were changed last; one that is not among them is told when somebody connects. */
const maxPolled = 200;

/**
 * Tells whoever watches a task here what another server made of its row: one query, however many watch,
 * and none where the rows know that nobody changed them.
 */
export class TaskRowPoller {
  readonly #options: TaskRowPollerOptions;
  /** The version that was seen last, of the rows that somebody watches. */
  #versions: ReadonlyMap<string, number> = new Map();
  /** The one before the last look that came to an end. */
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

  /** Once. */
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
      // Whoever has it as it is already makes nothing of it.
      for (const row of watched)
        if (before.get(row.id) !== row.version) changes.publish(storedTask(row).task);
      this.#stamp = stamp;
    } catch (error) {
      onDiagnostic(`Cannot look at what other servers changed: ${errorReason(error)}`);
    }
  }
}
