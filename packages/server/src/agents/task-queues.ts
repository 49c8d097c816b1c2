import type { Clock } from '@millrace/log';
import { ServerError } from '../contract/server-error.ts';
import { raceTimeout } from './abort-race.ts';

interface Work {
  readonly controller: AbortController;
  readonly done: Promise<unknown>;
  readonly isEnding: boolean;
}

interface TaskWorkOptions {
  /**
   * True for work that starts because the task was closed. Closing the task does not stop this work. Default:
   * false.
   */
  readonly isEnding?: boolean | undefined;
}

/**
 * Runs the work of tasks in this process. Each task has its own queue, and its current work can be stopped.
 */
export class TaskQueues {
  readonly #clock: Clock;
  readonly #graceMs: number;
  readonly #queues = new Map<string, TaskQueue>();
  readonly #current = new Map<string, Work>();
  #isClosing = false;

  /** Creates the queues. `graceMs` is the maximum time to wait for stopped work, in milliseconds. */
  constructor(clock: Clock, graceMs: number) {
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /**
   * The tasks with current work. It omits tasks whose only current work started because the task was closed.
   */
  get activeTasks(): readonly string[] {
    return [...this.#current].flatMap(([taskId, { isEnding }]) => (isEnding ? [] : [taskId]));
  }

  assertOpen(): void {
    if (!this.#isClosing) return;
    const message = 'Cannot accept the request: the server is closing. Try again later';
    throw new ServerError('unavailable', message, {}, { retryAfterMs: 1000 });
  }

  async run<T>(
    taskId: string,
    work: (signal: AbortSignal) => Promise<T>,
    options: TaskWorkOptions = {},
  ): Promise<T> {
    this.assertOpen();
    const queue = this.#queues.get(taskId) ?? new TaskQueue(taskId);
    this.#queues.set(taskId, queue);
    try {
      return await queue.run(() => this.#start(taskId, work, options));
    } finally {
      if (queue.isEmpty) this.#queues.delete(taskId);
    }
  }

  /** Stops the current work of a task and waits a limited time for its end. Then the queued work starts. */
  async stop(taskId: string, kind: StopKind, message: string): Promise<void> {
    const work = this.#current.get(taskId);
    if (work === undefined) return;
    work.controller.abort(new StopError(kind, message));
    await raceTimeout(work.done, this.#clock, 2 * this.#graceMs);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const stop = (id: string) => this.stop(id, 'close_server', 'The server stopped');
    await Promise.all([...this.#current.keys()].map(stop));
  }

  async #start<T>(
    taskId: string,
    work: (signal: AbortSignal) => Promise<T>,
    { isEnding = false }: TaskWorkOptions,
  ): Promise<T> {
    // The server may have started to close while this work waited in the queue.
    this.assertOpen();
    const controller = new AbortController();
    const done = work(controller.signal).finally(() => this.#current.delete(taskId));
    this.#current.set(taskId, { controller, done: done.catch(() => {}), isEnding });
    return done;
  }
}

/** Maximum number of queued work items per task. */
const maxQueuedWork = 100;

/** Runs the work items of one task, one after the other. */
class TaskQueue {
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
    if (this.#waiting >= maxQueuedWork) return Promise.reject(queueFull(this.#taskId));
    this.#waiting++;
    const done = this.#last.then(work).finally(() => {
      this.#waiting--;
    });
    this.#last = done.catch(() => {});
    return done;
  }
}

function queueFull(taskId: string): ServerError {
  const message = `Cannot queue more work for task ${taskId}: ${maxQueuedWork} requests already wait. Try again when they are done`;
  return new ServerError('rate_limited', message, { task: taskId }, { retryAfterMs: 1000 });
}

/** The reason why work was stopped. */
type StopKind = 'interrupt' | 'close_task' | 'close_server';

/**
 * The abort reason of work that was stopped. Its name is `AbortError`, because callers check for this name.
 */
class StopError extends Error {
  override readonly name = 'AbortError';
  readonly kind: StopKind;

  constructor(kind: StopKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

export function stopKindOf(signal: AbortSignal): StopKind | undefined {
  if (!signal.aborted) return undefined;
  return signal.reason instanceof StopError ? signal.reason.kind : 'interrupt';
}
