import type { Clock } from './clock.ts';

/** The timeouts of a response, in milliseconds. `Infinity` turns a timeout off. */
export interface TimeoutOptions {
  /**
   * Maximum time from sending the request to the first byte of the answer. Models may think before they
   * answer. Default: 180,000 (3 min).
   */
  readonly firstByteTimeoutMs: number;
  /**
   * Maximum time between two bytes after the first byte. Comments and pings count as activity. Default:
   * 90,000 (90 s).
   */
  readonly idleTimeoutMs: number;
  /**
   * Maximum time without content after the first byte. Content is text, reasoning, arguments or media.
   * Comments and pings are not content, so a response that sends only these ends with this timeout. Default:
   * 600,000 (10 min).
   */
  readonly silenceTimeoutMs: number;
  /**
   * Maximum time of the whole response. The time that the request waits in the queue is not included.
   * Default: 1,800,000 (30 min).
   */
  readonly totalTimeoutMs: number;
}

export const defaultTimeouts: TimeoutOptions = {
  firstByteTimeoutMs: 180_000,
  idleTimeoutMs: 90_000,
  silenceTimeoutMs: 600_000,
  totalTimeoutMs: 1_800_000,
};

/** The name of the timeout that expired. */
export type DeadlineName = 'first byte' | 'idle' | 'silence' | 'total';

/**
 * The timeouts of one response. When the first timeout expires, `onExpired` is called. The other timeouts
 * then have no effect.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #idleTimeoutMs: number;
  readonly #silenceTimeoutMs: number;
  readonly #onExpired: (deadline: DeadlineName, afterMs: number) => void;
  readonly #cancelTotal: () => void;
  #cancelIdle: () => void;
  #cancelSilence: () => void = () => {};
  /**
   * The time of the last activity. The timer is not restarted for each read. Instead, the timer checks this
   * value when it fires.
   */
  #lastActivityAt: number | undefined;
  /** The time of the last content, or of the first byte. */
  #lastContentAt = 0;
  #pausedAt = 0;
  #isPaused = false;
  /** True if a timer fired while reading was paused. `resume` then restarts the timers. */
  #isTimerStopped = false;
  #isEnded = false;

  constructor(
    clock: Clock,
    timeouts: TimeoutOptions,
    onExpired: (deadline: DeadlineName, afterMs: number) => void,
  ) {
    const { firstByteTimeoutMs, idleTimeoutMs, silenceTimeoutMs, totalTimeoutMs } = timeouts;
    this.#clock = clock;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#silenceTimeoutMs = silenceTimeoutMs;
    this.#onExpired = onExpired;
    const expire = (deadline: DeadlineName, ms: number) => () => this.#expire(deadline, ms);
    this.#cancelTotal = clock.after(totalTimeoutMs, expire('total', totalTimeoutMs));
    this.#cancelIdle = clock.after(firstByteTimeoutMs, expire('first byte', firstByteTimeoutMs));
  }

  /**
   * Must be called after every read, even if the read contained only a comment. It also pauses the timeouts,
   * as `pause` does.
   */
  recordActivity(): void {
    const isFirst = this.#lastActivityAt === undefined;
    const now = this.#clock.now();
    this.#pauseAt(now);
    if (this.#isEnded) return;
    this.#lastActivityAt = now;
    if (!isFirst) return;
    this.#lastContentAt = this.#lastActivityAt;
    this.#startIdleTimer(this.#idleTimeoutMs);
    this.#startSilenceTimer(this.#silenceTimeoutMs);
  }

  /** Must be called after every read that contained content. It uses the time of the last activity. */
  recordContent(): void {
    this.#lastContentAt = this.#lastActivityAt ?? this.#clock.now();
  }

  /**
   * Pauses the idle and silence timeouts while the consumer is busy and does not read. The server is not
   * responsible for that time.
   */
  pause(): void {
    this.#pauseAt(this.#clock.now());
  }

  #pauseAt(now: number): void {
    this.#isPaused = true;
    this.#pausedAt = now;
  }

  resume(): void {
    const now = this.#clock.now();
    if (this.#isPaused) this.#lastContentAt += now - this.#pausedAt;
    this.#isPaused = false;
    if (this.#lastActivityAt !== undefined) this.#lastActivityAt = now;
    if (!this.#isTimerStopped || this.#isEnded) return;
    this.#isTimerStopped = false;
    this.#startIdleTimer(this.#idleTimeoutMs);
    this.#checkSilence();
  }

  end(): void {
    this.#isEnded = true;
    this.#cancelTotal();
    this.#cancelIdle();
    this.#cancelSilence();
  }

  #startIdleTimer(ms: number): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#clock.after(ms, () => this.#checkIdle());
  }

  #startSilenceTimer(ms: number): void {
    this.#cancelSilence();
    this.#cancelSilence = this.#clock.after(ms, () => this.#checkSilence());
  }

  #checkSilence(): void {
    if (this.#isPaused) {
      this.#isTimerStopped = true;
      return;
    }
    const remainingMs = this.#lastContentAt + this.#silenceTimeoutMs - this.#clock.now();
    if (remainingMs > 0) this.#startSilenceTimer(remainingMs);
    else this.#expire('silence', this.#silenceTimeoutMs);
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
