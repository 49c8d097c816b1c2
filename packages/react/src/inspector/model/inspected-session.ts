import type { Client, Clock, TaskHandle, TaskOutline } from '@millrace/client';
import { sessionId } from '@millrace/core';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { pageClock } from '../../design/time.tsx';
import { countRecords, includes, type LogWindow, wholeRecords, windowFor } from './log-window.ts';
import { SessionModel } from './session-model.ts';
import { type RecordsStatus, SessionReader } from './session-reader.ts';

/**
 * A snapshot of a session. Each change creates a new snapshot, but all of them share the same
 * mutable model.
 */
export interface InspectedState {
  readonly model: SessionModel;
  readonly count: number;
  readonly status: RecordsStatus;
  /** The offset up to which all records are loaded. */
  readonly through: number;
  /** The outline of the whole log. Undefined until it is loaded. */
  readonly outline: TaskOutline | undefined;
  /** True if the model contains only some of the records, because the session is long. */
  readonly isPart: boolean;
}

interface InspectedSessionOptions {
  readonly client: Client;
  readonly taskId: string;
  readonly clock: Clock;
  /** The offset to show at first. Undefined means the current state. */
  readonly at?: number | undefined;
}

/** The interval at which the inspector checks a long session for new records. */
const pollMs = 2000;

/** Maximum number of requests to read the first outline of a very long log. */
const maxOutlineReads = 200;

/**
 * Reads the records of a session while it has listeners. It reads all records of a short session,
 * and a window of a long one. It also reads new records as they arrive.
 */
export class InspectedSession {
  readonly #options: InspectedSessionOptions;
  readonly #listeners = new Set<() => void>();
  #records: SessionReader | undefined;
  #stopFollowing: () => void = () => {};
  #now: InspectedState;
  #at: number | undefined;
  #window: LogWindow | undefined;
  #stopped = new AbortController();

  constructor(options: InspectedSessionOptions) {
    this.#options = options;
    this.#at = options.at;
    this.#now = this.#emptyState(undefined);
  }

  readonly now = (): InspectedState => this.#now;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  };

  /**
   * Shows the state at an offset. If the current window does not include the offset, a new window
   * is read.
   */
  show(at: number | undefined): void {
    this.#at = at;
    const { outline } = this.#now;
    if (outline === undefined || this.#window === undefined) return;
    if (!this.#now.isPart || includes(this.#window, at)) return this.#readAhead();
    this.#openWindow(outline);
  }

  retry(): void {
    if (this.#records === undefined) return this.#start();
    this.#records.retry();
  }

  get #task(): TaskHandle {
    return this.#options.client.task(this.#options.taskId);
  }

  #emptyState(outline: TaskOutline | undefined): InspectedState {
    const { after = 0, isRunStart = true } = this.#window ?? {};
    const model = new SessionModel(sessionId(this.#options.taskId), { after, isRunStart });
    const isPart = outline !== undefined && countRecords(outline) > wholeRecords;
    return { model, count: 0, status: { state: 'loading' }, through: after, outline, isPart };
  }

  #start(): void {
    this.#stopped.abort();
    const stopped = new AbortController();
    this.#stopped = stopped;
    this.#window = undefined;
    this.#change(this.#emptyState(undefined));
    void this.#readOutline(stopped.signal).then(
      (outline) => {
        if (stopped.signal.aborted) return;
        this.#openWindow(outline);
        this.#follow();
      },
      (error: unknown) => {
        if (stopped.signal.aborted) return;
        this.#change({ ...this.#now, status: { state: 'failed', error } });
      },
    );
  }

  async #readOutline(signal: AbortSignal): Promise<TaskOutline> {
    for (let reads = 1; ; reads++) {
      const outline = await this.#task.outline({ signal });
      if (outline.is_whole || reads >= maxOutlineReads) return outline;
    }
  }

  #openWindow(outline: TaskOutline): void {
    this.#records?.stop();
    const window = windowFor(outline, this.#at);
    this.#window = window;
    this.#change(this.#emptyState(outline));
    const task = this.#task;
    const records = new SessionReader({
      ...{ read: (from, options) => task.records(from, options), clock: this.#options.clock },
      ...{ after: window.after, until: window.until },
      onRecords: (page) => this.#now.model.add(page),
      onReset: () => this.#change(this.#emptyState(this.#now.outline)),
      onChange: () => {
        const { model } = this.#now;
        const { status, through } = records;
        this.#change({ ...this.#now, count: model.records.length, status, through });
      },
    });
    this.#records = records;
    records.start();
  }

  /** Reads more records if the selected record is near the end of the window. */
  #readAhead(): void {
    const { outline, isPart, through } = this.#now;
    const at = this.#at;
    if (!isPart || outline === undefined || at === undefined || through - at > 500) return;
    const next = outline.segments.find((segment) => segment.after >= through);
    const window = this.#window;
    if (next === undefined || window?.until === undefined) return;
    this.#window = { ...window, until: Math.max(window.until, next.through) };
    this.#records?.readUntil(next.through);
  }

  /**
   * Follows the session. The stream of a short session reports new records immediately. The stream
   * of a long session would send its whole transcript, so this class polls the end of the log.
   */
  #follow(): void {
    this.#stopFollowing();
    const task = this.#task;
    if (!this.#now.isPart) {
      this.#stopFollowing = task.subscribe(() =>
        this.#records?.setKnownEnd(task.snapshot().state.through),
      );
      return;
    }
    const { signal } = this.#stopped;
    const poll = async () => {
      const outline = await task.outline({ signal }).catch(() => undefined);
      if (signal.aborted) return;
      if (outline !== undefined && outline.through !== this.#now.outline?.through) {
        this.#change({ ...this.#now, outline });
        this.#records?.setKnownEnd(outline.through);
      }
      this.#stopFollowing = this.#options.clock.after(pollMs, () => void poll());
    };
    this.#stopFollowing = this.#options.clock.after(pollMs, () => void poll());
  }

  #stop(): void {
    this.#stopped.abort();
    this.#stopFollowing();
    this.#records?.stop();
    this.#records = undefined;
  }

  #change(now: InspectedState): void {
    this.#now = now;
    for (const listener of [...this.#listeners]) listener();
  }
}

/**
 * Returns the records of a session around an offset, and a function that retries after a failure.
 * Records are read while the component is mounted.
 */
export function useInspectedSession(
  client: Client,
  taskId: string,
  at: number | undefined,
): readonly [InspectedState, () => void] {
  // biome-ignore lint/correctness/useExhaustiveDependencies: `at` is only where the session opens
  const session = useMemo(
    () => new InspectedSession({ client, taskId, clock: pageClock, at }),
    [client, taskId],
  );
  const now = useSyncExternalStore(session.subscribe, session.now, session.now);
  useEffect(() => session.show(at), [session, at]);
  return [now, () => session.retry()];
}
