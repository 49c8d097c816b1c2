import type { Clock } from '@millrace/agent';
import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { currentDrivers } from '../../store/session-summaries.ts';

interface DriverWatcherOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly clock: Clock;
  /** Called with each status. If it returns true, the watcher checks again later. */
  readonly onStatus: (status: DriverStatus) => boolean;
  readonly onError: (error: unknown) => void;
}

const intervalMs = 1000;

/** Checks at regular intervals whether a different process still drives a session. */
export class DriverWatcher {
  readonly #options: DriverWatcherOptions;
  #cancel: (() => void) | undefined;

  constructor(options: DriverWatcherOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, onError } = this.#options;
    this.#cancel ??= clock.after(intervalMs, () => {
      this.#check().catch(onError);
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  async #check(): Promise<void> {
    const { log, session, onStatus } = this.#options;
    const status = await driverStatus(log, session);
    if (this.#cancel === undefined) return;
    this.#cancel = undefined;
    if (onStatus(status)) this.start();
  }
}

/** The process that drives a session, and whether the session has work to do. */
export interface DriverStatus {
  /** The name of the driver. Undefined if there is no driver. */
  readonly holder: string | undefined;
  /** True if the session has an interrupted run, an open approval or a queued command. */
  readonly hasWork: boolean;
}

export async function driverStatus(log: Log, session: SessionId): Promise<DriverStatus> {
  const info = await log.info(session);
  // A session without work has no driver. A process that ended may still have a lease on it.
  if (info === undefined || !info.hasWork) return { holder: undefined, hasWork: false };
  const drivers = await currentDrivers(log, [info]);
  return { holder: drivers.get(session), hasWork: true };
}
