import type { JsonObject } from '@millrace/core';
import type { Log } from '@millrace/log';
import { type A2aTask, noAnswer, type OpenView, openView } from './open-task.ts';
import { linkEvent } from './protocol/task-parts.ts';
import type { TaskFields, TaskView } from './task-view.ts';

export interface FollowOptions extends TaskFields {
  /** True if the stream ends when the task waits for an answer. */
  readonly stopsWhenAsked: boolean;
}

/** Maximum number of events that wait for one reader. A slower reader gets the task as it is then. */
const maxWaiting = 1000;

/** The tasks that have readers, by the id of the task. */
const tasksOf = new WeakMap<Log, Map<string, FollowedTask>>();

/** Yields a task as it is now, and then its events up to its end. All readers of a task share one view. */
export async function* followTask(
  task: A2aTask,
  options: FollowOptions,
  { log }: { readonly log: Log },
  signal: AbortSignal,
): AsyncGenerator<JsonObject> {
  const { taskId, base, sessionId } = task.place;
  // The reader must see its own message, which the shared view may not contain yet.
  const { through = 0 } = (await log.info(sessionId)) ?? {};
  // There is no `await` between here and `read`. Otherwise the last reader could leave in between, and the
  // view would end.
  const tasks = tasksOf.get(log) ?? new Map<string, FollowedTask>();
  tasksOf.set(log, tasks);
  const known = tasks.get(taskId);
  const followed = known ?? new FollowedTask(openView(task, { log }), () => tasks.delete(taskId));
  tasks.set(taskId, followed);
  for await (const event of followed.read(options, through, signal)) yield linkEvent(event, base);
}

/** Returns the view of a task. It does not read the log again if the task has readers. */
export async function readView(
  task: A2aTask,
  { log }: { readonly log: Log },
): Promise<Pick<TaskView, 'task' | 'isOver'>> {
  const followed = tasksOf.get(log)?.get(task.place.taskId);
  return (await (followed?.opened ?? openView(task, { log }))).view;
}

/**
 * A task that is read from the log once, for all its readers. The state of a task contains its messages, so a
 * state for each reader would fill the memory.
 */
class FollowedTask {
  readonly opened: Promise<OpenView>;
  readonly #onEnd: () => void;
  readonly #readers = new Set<TaskReader>();
  readonly #stopped = new AbortController();
  /** Called after the next batch of records. */
  readonly #onBatch: (() => void)[] = [];
  #users = 0;
  #isOpen = true;
  #isFollowing = false;

  /** Creates it with the view that is being read. `onEnd` is called once, when nobody can join any more. */
  constructor(opened: Promise<OpenView>, onEnd: () => void) {
    this.opened = opened;
    this.#onEnd = onEnd;
  }

  async *read(
    { stopsWhenAsked, ...fields }: FollowOptions,
    through: number,
    signal: AbortSignal,
  ): AsyncGenerator<JsonObject> {
    this.#users++;
    const reader = new TaskReader(stopsWhenAsked);
    try {
      const { view, response } = await this.opened;
      await this.#reach(through, { view, response });
      const now = () => ({ task: view.task(fields) });
      const first = now();
      const isEnded = view.isOver || !this.#isOpen || response === undefined;
      const isDone = isEnded || reader.isDoneAt(view);
      if (!isDone) this.#join(reader, { view, response });
      yield first;
      if (!isDone) yield* reader.events(now, signal);
    } finally {
      this.#readers.delete(reader);
      if (--this.#users === 0) this.#end();
    }
  }

  /** Waits until the view contains all records up to an offset, or until the task is over. */
  async #reach(through: number, { view, response }: OpenView): Promise<void> {
    while (this.#isOpen && !view.isOver && response && response.state.through < through) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onBatch.push(resolve);
      this.#start({ view, response });
      await promise;
    }
  }

  #join(reader: TaskReader, opened: OpenView): void {
    this.#readers.add(reader);
    this.#start(opened);
  }

  #start({ view, response }: OpenView): void {
    if (this.#isFollowing || response === undefined) return;
    this.#isFollowing = true;
    void this.#follow(view, response);
  }

  async #follow(view: TaskView, response: NonNullable<OpenView['response']>): Promise<void> {
    try {
      for await (const steps of response.follow(this.#stopped.signal)) {
        this.#emit(
          view,
          steps.flatMap((step) => view.add(step)),
        );
        this.#wake();
        if (view.isOver) break;
      }
    } catch (error) {
      try {
        this.#emit(view, [view.fail(noAnswer(error))]);
      } catch (failure) {
        for (const reader of this.#readers) reader.end(failure);
      }
    }
    this.#end();
    for (const reader of this.#readers) reader.end();
  }

  #emit(view: TaskView, events: readonly JsonObject[]): void {
    for (const reader of this.#readers) {
      reader.push(events);
      if (view.isOver || reader.isDoneAt(view)) reader.end();
    }
  }

  /** Continues the readers that wait for a batch. */
  #wake(): void {
    for (const resolve of this.#onBatch.splice(0)) resolve();
  }

  #end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#wake();
    this.#onEnd();
    this.#stopped.abort();
  }
}

/** The events that wait for one reader of a task. */
class TaskReader {
  readonly #stopsWhenAsked: boolean;
  #events: JsonObject[] = [];
  /** True if events were dropped, so that the reader needs the whole task. */
  #isBehind = false;
  #ended: { readonly failure: unknown } | undefined;
  #wake = () => {};

  constructor(stopsWhenAsked: boolean) {
    this.#stopsWhenAsked = stopsWhenAsked;
  }

  isDoneAt({ waiting }: TaskView): boolean {
    return this.#stopsWhenAsked && waiting.length > 0;
  }

  push(events: readonly JsonObject[]): void {
    if (this.#ended !== undefined || events.length === 0) return;
    if (!this.#isBehind) this.#events.push(...events);
    if (this.#events.length > maxWaiting) {
      this.#isBehind = true;
      this.#events = [];
    }
    this.#wake();
  }

  end(failure?: unknown): void {
    this.#ended ??= { failure };
    this.#wake();
  }

  /** Yields the events. `now` returns the task as it is now. */
  async *events(now: () => JsonObject, signal: AbortSignal): AsyncGenerator<JsonObject> {
    const onAbort = () => this.#wake();
    signal.addEventListener('abort', onAbort);
    try {
      while (!signal.aborted) {
        if (this.#isBehind) {
          this.#isBehind = false;
          yield now();
        } else if (this.#events.length > 0) {
          const events = this.#events;
          this.#events = [];
          for (const event of events) if (!signal.aborted) yield event;
        } else if (this.#ended !== undefined) {
          if (this.#ended.failure !== undefined) throw this.#ended.failure;
          return;
        } else {
          const { promise, resolve } = Promise.withResolvers<void>();
          this.#wake = resolve;
          await promise;
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}
