import type { LogRecord } from '@millrace/core';
import type { Clock } from '@millrace/providers';

export interface Pace {
  /** Times as fast as it was; `Infinity` is at once. */
  readonly speed: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** A pause was longer than anybody wants to wait. */
  readonly onShortened?: ((pauseMs: number) => void | Promise<void>) | undefined;
}

/** So long a pause is shown as it was. A person who came back the next day is not waited for. */
export const maxPauseMs = 2000;

/** Records in their own time, one after the other; fewer where the signal ends it. */
export async function* paced(
  records: AsyncIterable<LogRecord>,
  { speed, clock, signal, onShortened }: Pace,
): AsyncGenerator<LogRecord> {
  let lastTime: number | undefined;
  // When the next is due, so that what is shown late does not make all that follows late.
  let dueMs = clock.now();
  for await (const record of records) {
    // Clocks may be set back: then it came at once.
    const pauseMs = Math.max(0, record.time - (lastTime ?? record.time));
    lastTime = record.time;
    if (pauseMs > maxPauseMs && Number.isFinite(speed)) await onShortened?.(pauseMs);
    dueMs += Math.min(pauseMs, maxPauseMs) / speed;
    const waitMs = dueMs - clock.now();
    if (waitMs >= 1) await waitFor(waitMs, clock, signal);
    if (signal?.aborted) return;
    yield record;
  }
}

function waitFor(ms: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    if (signal?.aborted) done();
    else signal?.addEventListener('abort', done);
  });
}
