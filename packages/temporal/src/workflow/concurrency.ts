import { CancellationScope } from '@temporalio/workflow';

/** Lets one through at a time, in the order in which they came. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  through<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => {});
    return next;
  }
}

/** Lets so many through at once, in the order in which they came. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** No bound where there is none: in JSON, infinity is null. */
  constructor(width: number | null) {
    this.#free = width ?? Number.POSITIVE_INFINITY;
  }

  async through<T>(work: () => Promise<T>): Promise<T> {
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

interface Stopping<T> {
  /** Told when the caller's scope is cancelled. */
  readonly stop: () => Promise<void>;
  /** Whether the work ended by that. */
  readonly isStopped: (end: T) => boolean;
}

/** Work that is stopped where others are cancelled, and comes to an end of its own: then it is cancelled. */
export function stoppedByCancel<T>(
  work: () => Promise<T>,
  { stop, isStopped }: Stopping<T>,
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
