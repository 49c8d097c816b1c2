import type { Clock } from '../contract/clock.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Shorter delays are about order, not about time. They pass without moving the clock. */
const immediateMs = 10;

/** A clock for tests. Its time moves only when the test moves it. */
export class TestClock implements Clock {
  #now: number;
  readonly #timers = new Set<Timer>();
  /** Resolves when the effects of a timer are complete, for stores that need real time. */
  whenIdle: () => Promise<void> | undefined = () => undefined;

  constructor(now = 1_763_200_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    if (ms < immediateMs) {
      const soon = setImmediate(run);
      return () => clearImmediate(soon);
    }
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves the time forward and runs the timers that become due. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.at);
      this.#timers.delete(next);
      next.run();
      await eventLoopSettled();
      await this.whenIdle();
    }
    this.#now = end;
  }

  /** Moves the time without running timers, as if the process was paused. May be negative. */
  jump(ms: number): void {
    this.#now += ms;
  }

  #next(end: number): Timer | undefined {
    const due = [...this.#timers].filter(({ at }) => at <= end);
    return due.sort((a, b) => a.at - b.at)[0];
  }
}

/** Waits for three rounds of the event loop, so that pending callbacks can run. */
export async function eventLoopSettled(): Promise<void> {
  for (let round = 0; round < 3; round++) await new Promise((resolve) => setImmediate(resolve));
}
