import type { Clock } from '../clock.ts';

/** Notices when nothing was heard for too long. One timer at a time, however much is heard. */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onSilent: () => void;
  #heardAt: number;
  #stopTimer: () => void;

  constructor(clock: Clock, limitMs: number, onSilent: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onSilent = onSilent;
    this.#heardAt = clock.now();
    this.#stopTimer = clock.after(limitMs, () => this.check());
  }

  heard(): void {
    this.#heardAt = this.#clock.now();
  }

  /** Looks now, which a timer of a page that was frozen did not. */
  check(): void {
    this.#stopTimer();
    const silentMs = this.#clock.now() - this.#heardAt;
    if (silentMs >= this.#limitMs) return this.#onSilent();
    // A clock that was set back delays it by one round at most.
    const leftMs = Math.min(this.#limitMs, this.#limitMs - silentMs);
    this.#stopTimer = this.#clock.after(leftMs, () => this.check());
  }

  stop(): void {
    this.#stopTimer();
  }
}
