interface Waiter {
  /** Of the command that is its message. */
  readonly key: string;
  readonly lost: AbortController;
}

/** Those who wait for the answers of agent loops. What ends as it should is told by the log itself. */
export class AnswerWaiters {
  readonly #ofTask = new Map<string, Set<Waiter>>();

  add(taskId: string, key: string): Waiter {
    const waiters = this.#ofTask.get(taskId) ?? new Set();
    const waiter = { key, lost: new AbortController() };
    this.#ofTask.set(taskId, waiters.add(waiter));
    return waiter;
  }

  forget(taskId: string, waiter: Waiter): void {
    const waiters = this.#ofTask.get(taskId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#ofTask.delete(taskId);
  }

  /** Those for whom there is an error are told, and wait no more. */
  tell(taskId: string, errorFor: (key: string) => Error | undefined): void {
    for (const waiter of [...(this.#ofTask.get(taskId) ?? [])]) {
      const error = errorFor(waiter.key);
      if (error === undefined) continue;
      waiter.lost.abort(error);
      this.forget(taskId, waiter);
    }
  }

  /** Nobody goes on here: each is told its error, or has its end on the log. */
  end(taskId: string, errorFor: (key: string) => Error | undefined): void {
    this.tell(taskId, errorFor);
    this.#ofTask.delete(taskId);
  }

  endAll(errorFor: (taskId: string) => Error): void {
    for (const taskId of [...this.#ofTask.keys()]) this.end(taskId, () => errorFor(taskId));
  }
}
