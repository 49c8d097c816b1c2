import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Log } from '@millrace/log';
import type { RouteContext } from '../../http/route.ts';

/** Runs reads one after the other, with a pause between them for other requests. */
export class ReadQueue {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** True if no read runs or waits. */
  get isIdle(): boolean {
    return this.#waiting === 0;
  }

  run<T>(read: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const result = this.#last.then(() => nextTurn()).then(read);
    const done = () => {
      this.#waiting--;
    };
    this.#last = result.then(done, done);
    return result;
  }
}

const queuesOf = new WeakMap<Log, Map<string, ReadQueue>>();

/** Reads tasks. The reads of a caller without full access run one after the other, so that others are answered. */
export async function readInTurn<T>(
  { log, restricted }: Pick<RouteContext, 'log' | 'restricted'>,
  read: () => Promise<T>,
): Promise<T> {
  if (restricted === undefined) return read();
  const queues = queuesOf.get(log) ?? new Map<string, ReadQueue>();
  queuesOf.set(log, queues);
  const queue = queues.get(restricted) ?? new ReadQueue();
  queues.set(restricted, queue);
  try {
    return await queue.run(read);
  } finally {
    if (queue.isIdle && queues.get(restricted) === queue) queues.delete(restricted);
  }
}
