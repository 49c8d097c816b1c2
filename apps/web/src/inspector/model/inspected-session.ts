import type { Client, Clock } from '@millrace/client';
import { sessionId } from '@millrace/core';
import { useMemo, useSyncExternalStore } from 'react';
import { pageClock } from '../../design/time.tsx';
import { SessionModel } from './session-model.ts';
import { type RecordsStatus, SessionReader } from './session-reader.ts';

/** What is known of a session now. Another object with each change; the model itself grows. */
export interface InspectedState {
  readonly model: SessionModel;
  readonly count: number;
  readonly status: RecordsStatus;
  /** All up to here was read. */
  readonly through: number;
}

interface InspectedSessionOptions {
  readonly client: Client;
  readonly taskId: string;
  readonly clock: Clock;
}

/** A session's records for as long as somebody looks: all that there are, then as they come. */
class InspectedSession {
  readonly #options: InspectedSessionOptions;
  readonly #listeners = new Set<() => void>();
  #records: SessionReader | undefined;
  #stopFollowing: () => void = () => {};
  #now: InspectedState;

  constructor(options: InspectedSessionOptions) {
    this.#options = options;
    this.#now = this.#emptyState();
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

  retry(): void {
    this.#records?.retry();
  }

  #emptyState(): InspectedState {
    const model = new SessionModel(sessionId(this.#options.taskId));
    return { model, count: 0, status: { state: 'loading' }, through: 0 };
  }

  #start(): void {
    const { client, taskId, clock } = this.#options;
    const task = client.task(taskId);
    this.#now = this.#emptyState();
    const records = new SessionReader({
      ...{ read: (from, options) => task.records(from, options), clock },
      onRecords: (page) => this.#now.model.add(page),
      onReset: () => this.#change(this.#emptyState()),
      onChange: () => {
        const { model } = this.#now;
        const { status, through } = records;
        this.#change({ model, count: model.records.length, status, through });
      },
    });
    this.#records = records;
    // Whoever follows the task knows first that there is more; it is then read as the log has it.
    this.#stopFollowing = task.subscribe(() => records.reach(task.snapshot().state.through));
    records.start();
  }

  #stop(): void {
    this.#stopFollowing();
    this.#records?.stop();
    this.#records = undefined;
  }

  #change(now: InspectedState): void {
    this.#now = now;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A session's records while it is mounted, and how to ask again after a failure. */
export function useInspectedSession(
  client: Client,
  taskId: string,
): readonly [InspectedState, () => void] {
  const session = useMemo(
    () => new InspectedSession({ client, taskId, clock: pageClock }),
    [client, taskId],
  );
  const now = useSyncExternalStore(session.subscribe, session.now);
  return [now, () => session.retry()];
}
