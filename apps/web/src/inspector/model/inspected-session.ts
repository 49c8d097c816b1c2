import type { Client, Clock } from '@millrace/client';
import { sessionId } from '@millrace/core';
import { useMemo, useSyncExternalStore } from 'react';
import { pageClock } from '../../design/time.tsx';
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
  /** The offset up to which all records were read. */
  readonly through: number;
}

interface InspectedSessionOptions {
  readonly client: Client;
  readonly taskId: string;
  readonly clock: Clock;
}

/**
 * Reads a session's records while it has listeners. It reads all existing records first, and then
 * new ones.
 */
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
    // The task handle reports that there are new records. The records are then read from the log.
    this.#stopFollowing = task.subscribe(() => records.setKnownEnd(task.snapshot().state.through));
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

/**
 * Returns the session's records while the component is mounted, and a function that retries after a
 * failure.
 */
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
