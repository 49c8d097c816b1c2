import type { Clock } from '@millrace/agent';

/** So often at most something new is drawn, while it streams. */
const frameMs = 1000 / 30;

/** Draws when something changed: at once, and then at most so often. */
export class Frames {
  readonly #clock: Clock;
  readonly #draw: () => void;
  #lastMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, draw: () => void) {
    this.#clock = clock;
    this.#draw = draw;
  }

  /** Something changed. */
  request(): void {
    if (this.#cancel !== undefined) return;
    const waitMs = this.#lastMs + frameMs - this.#clock.now();
    if (waitMs <= 0) return this.drawNow();
    this.#cancel = this.#clock.after(Math.ceil(waitMs), () => this.drawNow());
  }

  /** Somebody pressed a key: what that changed is not waited for. */
  drawNow(): void {
    this.stop();
    this.#lastMs = this.#clock.now();
    this.#draw();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
