import type { Clock } from '@millrace/agent';
import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { driversOf } from '../../store/session-summaries.ts';

interface LookoutOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly clock: Clock;
  /** What was seen. True where it is worth looking again. */
  readonly onSeen: (driving: Driving) => boolean;
  readonly onError: (error: unknown) => void;
}

const everyMs = 1000;

/** Looks now and then whether somebody else's process still works on a session. */
export class Lookout {
  readonly #options: LookoutOptions;
  #cancel: (() => void) | undefined;

  constructor(options: LookoutOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, onError } = this.#options;
    this.#cancel ??= clock.after(everyMs, () => {
      this.#look().catch(onError);
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  async #look(): Promise<void> {
    const { log, session, onSeen } = this.#options;
    const driving = await driverOf(log, session);
    if (this.#cancel === undefined) return;
    this.#cancel = undefined;
    if (onSeen(driving)) this.start();
  }
}

/** Who works on a session now, and whether somebody should. */
export interface Driving {
  /** By the name it gave; undefined where nobody does. */
  readonly holder: string | undefined;
  /** Something was cut short, waits for an answer, or is in the queue. */
  readonly hasWork: boolean;
}

export async function driverOf(log: Log, session: SessionId): Promise<Driving> {
  const info = await log.info(session);
  // Without work nobody drives, whatever a process that ended left behind.
  if (info === undefined || !info.hasWork) return { holder: undefined, hasWork: false };
  const drivers = await driversOf(log, [info]);
  return { holder: drivers.get(session), hasWork: true };
}
