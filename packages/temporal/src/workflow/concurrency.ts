import { CancellationScope } from '@temporalio/workflow';

/** Runs one task at a time, in the order of the calls. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => {});
    return next;
  }
}

/** Runs a limited number of tasks at the same time, in the order of the calls. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /**
   * Sets the number of tasks that run at the same time. Null means no limit, because JSON encodes infinity as
   * null.
   */
  constructor(width: number | null) {
    this.#free = width ?? Number.POSITIVE_INFINITY;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

interface StopHandlers<T> {
  /** Called when the caller's scope is cancelled. */
  readonly stop: () => Promise<void>;
  /** Returns true if the work ended because of `stop`. */
  readonly isStopped: (end: T) => boolean;
}

/**
 * Runs `work`. If the caller's scope is cancelled, it calls `stop` and does not cancel `work`. After `work`
 * has ended, it throws the cancellation.
 */
export function stopOnCancel<T>(
  work: () => Promise<T>,
  { stop, isStopped }: StopHandlers<T>,
): Promise<T> {
  const { cancelRequested } = CancellationScope.current();
  return CancellationScope.nonCancellable(async () => {
    let cancelled: unknown;
    let isOver = false;
    cancelRequested.catch((error: unknown) => {
      if (isOver) return;
      cancelled = error;
      return CancellationScope.nonCancellable(stop).catch(() => {});
    });
    const end = await work().finally(() => {
      isOver = true;
    });
    if (cancelled !== undefined && isStopped(end)) throw cancelled;
    return end;
  });
}
