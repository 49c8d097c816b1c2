import type { Clock } from './clock.ts';

export interface TimeoutOptions {
  /** From sending the request to the first byte of the answer: models may think before they speak. */
  readonly firstByteTimeoutMs: number;
  /** How long one read may take, after the first. A comment or a ping ends it. */
  readonly idleTimeoutMs: number;
  /** The whole response, from when its turn came: how long it waited for that does not count. */
  readonly totalTimeoutMs: number;
}

export const defaultTimeouts: TimeoutOptions = {
  firstByteTimeoutMs: 180_000,
  idleTimeoutMs: 90_000,
  totalTimeoutMs: 1_800_000,
};

/** Which of them passed. */
export type DeadlineName = 'first byte' | 'idle' | 'total';

/** The three time-outs of one response: `onExpired` hears of the first that passes, once. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #idleTimeoutMs: number;
  readonly #onExpired: (deadline: DeadlineName, afterMs: number) => void;
  readonly #cancelTotal: () => void;
  #cancelIdle: () => void;
  /** When something came last. Timers are not set anew for each read: one that fires looks here. */
  #lastActivityAt: number | undefined;
  #isPaused = false;
  /** The timer fired while nobody listened, and is set again when somebody does. */
  #isTimerStopped = false;
  #isEnded = false;

  constructor(
    clock: Clock,
    timeouts: TimeoutOptions,
    onExpired: (deadline: DeadlineName, afterMs: number) => void,
  ) {
    const { firstByteTimeoutMs, idleTimeoutMs, totalTimeoutMs } = timeouts;
    this.#clock = clock;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#onExpired = onExpired;
    const expire = (deadline: DeadlineName, ms: number) => () => this.#expire(deadline, ms);
    this.#cancelTotal = clock.after(totalTimeoutMs, expire('total', totalTimeoutMs));
    this.#cancelIdle = clock.after(firstByteTimeoutMs, expire('first byte', firstByteTimeoutMs));
  }

  /** Something came, be it only a comment. */
  recordActivity(): void {
    if (this.#isEnded) return;
    const isFirst = this.#lastActivityAt === undefined;
    this.#lastActivityAt = this.#clock.now();
    if (isFirst) this.#startIdleTimer(this.#idleTimeoutMs);
  }

  /** Nobody listens: whoever reads the stream is busy, and that the server cannot help. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#lastActivityAt !== undefined) this.#lastActivityAt = this.#clock.now();
    if (!this.#isTimerStopped || this.#isEnded) return;
    this.#isTimerStopped = false;
    this.#startIdleTimer(this.#idleTimeoutMs);
  }

  end(): void {
    this.#isEnded = true;
    this.#cancelTotal();
    this.#cancelIdle();
  }

  #startIdleTimer(ms: number): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#clock.after(ms, () => this.#checkIdle());
  }

  #checkIdle(): void {
    if (this.#isPaused) {
      this.#isTimerStopped = true;
      return;
    }
    const remainingMs = (this.#lastActivityAt ?? 0) + this.#idleTimeoutMs - this.#clock.now();
    if (remainingMs > 0) this.#startIdleTimer(remainingMs);
    else this.#expire('idle', this.#idleTimeoutMs);
  }

  #expire(deadline: DeadlineName, afterMs: number): void {
    if (this.#isEnded) return;
    this.end();
    this.#onExpired(deadline, afterMs);
  }
}
