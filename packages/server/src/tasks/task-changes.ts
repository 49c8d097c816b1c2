import type { Task } from '../contract/task.ts';

export type TaskListener = (task: Task) => void;

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

  tell(task: Task): void {
    for (const listener of [...(this.#listeners.get(task.id) ?? [])]) {
      try {
        listener(task);
      } catch {
        // Who listens makes no problems for whoever changes something.
      }
    }
  }
}
