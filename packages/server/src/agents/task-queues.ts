import type { Clock } from '@millrace/log';
import { ServerError } from '../contract/server-error.ts';
import { unlessLate } from './abort-race.ts';

interface Work {
  readonly controller: AbortController;
  readonly done: Promise<unknown>;
  readonly isEnding: boolean;
}

interface WorkOptions {
  /** It is done because the task was closed, which is thus no reason to stop it. */
  readonly isEnding?: boolean | undefined;
}

/** What is done for tasks in this process: for each one thing after the other, and each can be stopped. */
export class TaskWorks {
  readonly #clock: Clock;
  readonly #graceMs: number;
  readonly #lanes = new Map<string, Lane>();
  readonly #current = new Map<string, Work>();
  #isClosing = false;

  /** `graceMs`: how long what was told to stop is waited for. */
  constructor(clock: Clock, graceMs: number) {
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** The tasks for which something is done that ends with them. */
  get going(): readonly string[] {
    return [...this.#current].flatMap(([taskId, { isEnding }]) => (isEnding ? [] : [taskId]));
  }

  assertOpen(): void {
    if (!this.#isClosing) return;
    const message = 'Cannot take anything: the server is about to close. Try again later';
    throw new ServerError('unavailable', message, {}, { retryAfterMs: 1000 });
  }

  async run<T>(
    taskId: string,
    work: (signal: AbortSignal) => Promise<T>,
    options: WorkOptions = {},
  ): Promise<T> {
    this.assertOpen();
    const lane = this.#lanes.get(taskId) ?? new Lane(taskId);
    this.#lanes.set(taskId, lane);
    try {
      return await lane.run(() => this.#begin(taskId, work, options));
    } finally {
      if (lane.isEmpty) this.#lanes.delete(taskId);
    }
  }

  /** Stops what goes on, and waits for its end for a while. What waits behind it comes next. */
  async stop(taskId: string, kind: StopKind, message: string): Promise<void> {
    const work = this.#current.get(taskId);
    if (work === undefined) return;
    work.controller.abort(new Stopped(kind, message));
    await unlessLate(work.done, this.#clock, 2 * this.#graceMs);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const stop = (id: string) => this.stop(id, 'close_server', 'The server stopped');
    await Promise.all([...this.#current.keys()].map(stop));
  }

  async #begin<T>(
    taskId: string,
    work: (signal: AbortSignal) => Promise<T>,
    { isEnding = false }: WorkOptions,
  ): Promise<T> {
    // It may have waited until after the end.
    this.assertOpen();
    const controller = new AbortController();
    const done = work(controller.signal).finally(() => this.#current.delete(taskId));
    this.#current.set(taskId, { controller, done: done.catch(() => {}), isEnding });
    return done;
  }
}

/** So much may wait for what goes on. */
const maxWaiting = 100;

/** What is done for a task is done one after the other. */
class Lane {
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

/** Why somebody's work was stopped. */
type StopKind = 'interrupt' | 'close_task' | 'close_server';

/** What a signal is aborted with. It reads as an abort to those who know nothing of it. */
class Stopped extends Error {
  override readonly name = 'AbortError';
  readonly kind: StopKind;

  constructor(kind: StopKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

export function stopKindOf(signal: AbortSignal): StopKind | undefined {
  if (!signal.aborted) return undefined;
  return signal.reason instanceof Stopped ? signal.reason.kind : 'interrupt';
}
