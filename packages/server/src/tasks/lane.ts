import { ServerError } from '../contract/server-error.ts';

/** So much may wait for what goes on. */
const maxWaiting = 100;

/** What is done for a task is done one after the other. */
export class Lane {
  readonly #taskId: string;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(taskId: string) {
    this.#taskId = taskId;
  }

  get isEmpty(): boolean {
    return this.#waiting === 0;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= maxWaiting) return Promise.reject(tooMany(this.#taskId));
    this.#waiting++;
    const done = this.#last.then(work).finally(() => {
      this.#waiting--;
    });
    this.#last = done.catch(() => {});
    return done;
  }
}

function tooMany(taskId: string): ServerError {
  const message = `Cannot take more for task ${taskId}: ${maxWaiting} wait already. Try again when they are done`;
  return new ServerError('rate_limited', message, { task: taskId }, { retryAfterMs: 1000 });
}
