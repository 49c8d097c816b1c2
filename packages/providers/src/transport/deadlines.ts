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
export type Deadline = 'first byte' | 'idle' | 'total';

/** The three time-outs of one response: `onPassed` hears of the first that passes, once. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #idleTimeoutMs: number;
  readonly #onPassed: (deadline: Deadline, afterMs: number) => void;
  readonly #cancelTotal: () => void;
  #cancelNext: () => void;
  /** When something came last. Timers are not set anew for each read: one that fires looks here. */
  #lifeAt: number | undefined;
  #isPaused = false;
  /** The timer fired while nobody listened, and is set again when somebody does. */
  #isAsleep = false;
  #isOver = false;

  constructor(
    clock: Clock,
    timeouts: TimeoutOptions,
    onPassed: (deadline: Deadline, afterMs: number) => void,
  ) {
    const { firstByteTimeoutMs, idleTimeoutMs, totalTimeoutMs } = timeouts;
    this.#clock = clock;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#onPassed = onPassed;
    const pass = (deadline: Deadline, ms: number) => () => this.#pass(deadline, ms);
    this.#cancelTotal = clock.after(totalTimeoutMs, pass('total', totalTimeoutMs));
    this.#cancelNext = clock.after(firstByteTimeoutMs, pass('first byte', firstByteTimeoutMs));
  }

  /** Something came, be it only a comment. */
  sawLife(): void {
    if (this.#isOver) return;
    const isFirst = this.#lifeAt === undefined;
    this.#lifeAt = this.#clock.now();
    if (isFirst) this.#watch(this.#idleTimeoutMs);
  }

  /** Nobody listens: whoever reads the stream is busy, and that the server cannot help. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#lifeAt !== undefined) this.#lifeAt = this.#clock.now();
    if (!this.#isAsleep || this.#isOver) return;
    this.#isAsleep = false;
    this.#watch(this.#idleTimeoutMs);
  }

  end(): void {
    this.#isOver = true;
    this.#cancelTotal();
    this.#cancelNext();
  }

  #watch(ms: number): void {
    this.#cancelNext();
    this.#cancelNext = this.#clock.after(ms, () => this.#checkIdle());
  }

  #checkIdle(): void {
    if (this.#isPaused) {
      this.#isAsleep = true;
      return;
    }
    const leftMs = (this.#lifeAt ?? 0) + this.#idleTimeoutMs - this.#clock.now();
    if (leftMs > 0) this.#watch(leftMs);
    else this.#pass('idle', this.#idleTimeoutMs);
  }

  #pass(deadline: Deadline, afterMs: number): void {
    if (this.#isOver) return;
    this.end();
    this.#onPassed(deadline, afterMs);
  }
}
