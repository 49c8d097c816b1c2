import type { Clock } from '@millrace/log';
import type { HttpResponse } from '../../contract/http.ts';

/** Time between two checks of the user of an open stream, in milliseconds. */
const checkEveryMs = 15_000;

/**
 * Maximum number of calls of `authorize` that checks wait for at the same time. Without a limit, thousands of
 * streams could overload the database of the application.
 */
const maxConcurrent = 10;

/** Time after which a slow call of `authorize` no longer delays the checks of other streams, in milliseconds. */
const slowCallMs = 10_000;

/** Returns false if the user of a request is no longer admitted, or has other rights. */
export type IsUserAdmitted = () => Promise<boolean>;

/**
 * Checks at intervals whether the application still admits the users of open streams, and closes the streams of
 * all others. Each server of a cluster checks its own streams.
 */
export class UserChecks {
  readonly #clock: Clock;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Checks the user of a stream until its connection closes. */
  watch(response: HttpResponse, isAdmitted: IsUserAdmitted): void {
    let cancel = () => {};
    const checkLater = () => {
      if (response.destroyed) return;
      cancel = this.#clock.after(checkEveryMs, () => void check(), { isIdle: true });
    };
    const check = async () => {
      await this.#slot();
      if (response.destroyed) return this.#release();
      if (await this.#call(isAdmitted)) checkLater();
      else response.destroy();
    };
    response.once('close', () => cancel());
    checkLater();
  }

  /**
   * Calls `authorize` in a slot. A slow call loses its slot, but its stream is not checked again before the call
   * has ended. An error says nothing about the user, so the stream stays open until the next check.
   */
  async #call(isAdmitted: IsUserAdmitted): Promise<boolean> {
    let isHeld = true;
    const release = () => {
      if (isHeld) this.#release();
      isHeld = false;
    };
    const stop = this.#clock.after(slowCallMs, release, { isIdle: true });
    try {
      return await isAdmitted();
    } catch {
      return true;
    } finally {
      stop();
      release();
    }
  }

  /** Resolves when a slot is free. */
  async #slot(): Promise<void> {
    if (this.#running < maxConcurrent) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Releases a slot. The next waiting check gets the slot directly. */
  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}
