import type { Clock } from '../transport/clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** A clock that advances only when a test calls `advance`. */
export class VirtualClock implements Clock {
  #nowMs: number;
  /** The timers, in the order in which they were set. */
  readonly #timers = new Set<Timer>();

  constructor(nowMs: number = Date.UTC(2026, 0, 1)) {
    this.#nowMs = nowMs;
  }

  /** Number of timers that have neither run nor been cancelled. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#nowMs;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { dueMs: this.#nowMs + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Advances the time. Runs the timers that become due, in order, each at its own time. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (let next = this.#first(untilMs); next !== undefined; next = this.#first(untilMs)) {
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.run();
    }
    this.#nowMs = untilMs;
  }

  #first(untilMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs <= untilMs && timer.dueMs < (first?.dueMs ?? Infinity)) first = timer;
    }
    return first;
  }
}
