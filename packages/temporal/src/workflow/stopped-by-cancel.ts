import { CancellationScope } from '@temporalio/workflow';

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
